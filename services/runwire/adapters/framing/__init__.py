"""Bytes of a body to events, whatever they are framed as."""
