"""The locked environment: what it consists of, and whether it is in order."""
