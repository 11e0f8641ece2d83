"""The benchmark: what the enforcer costs beside the cheapest thing that could stand in its place."""
