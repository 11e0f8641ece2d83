"""The unwrapper: a node that makes runs of what lies wrapped in the logs of others."""
