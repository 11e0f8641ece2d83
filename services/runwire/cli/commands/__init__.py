"""One module per command or pair of commands. Their top-level imports are kept light: start-up time is a feature."""
