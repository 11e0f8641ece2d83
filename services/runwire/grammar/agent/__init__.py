"""Agent chunks: what agent runtimes publish. Validated, repaired where real runtimes are loose, never lost."""
