"""The edges of Runwire: everything that travels between its nodes. msgspec only, no I/O."""
