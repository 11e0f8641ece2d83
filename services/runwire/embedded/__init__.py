"""One machine is enough: an embedded server, every node beside it, and what keeps them running."""
