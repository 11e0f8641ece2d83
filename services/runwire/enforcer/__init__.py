"""The enforcer: a node that turns records into enforced, numbered chunks."""
