"""`runwire demo`: a deployment of its own, streams at real speed, a killed enforcer, a broken stream, and checks."""
