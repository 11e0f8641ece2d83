"""What adapters write: the raw chunks of one call, always legal, and the agent chunks beside them."""
