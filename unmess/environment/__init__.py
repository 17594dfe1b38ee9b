"""The locked environment: its lock files, and checks of what is installed."""
