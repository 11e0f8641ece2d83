"""What every node that runs as a process has in common: probes, signals, log lines and metrics."""
