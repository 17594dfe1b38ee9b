"""IREE: compiled in a child process, run in this one; weights are named parameters."""
