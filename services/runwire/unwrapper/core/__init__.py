"""What the unwrapper decides, apart from any server: chunks of a log in, records of child runs out."""
