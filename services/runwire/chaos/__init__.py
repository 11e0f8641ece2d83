"""Chaos: kill, stop, cut and restart everything at random while known content flows, then check what is left."""
