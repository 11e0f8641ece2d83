"""A server and every node on one machine: what `runwire up`, the demo, the benchmark and the tests start."""
