"""Studies over HTTP: `oddarm serve`, and a client for workers in Python."""
