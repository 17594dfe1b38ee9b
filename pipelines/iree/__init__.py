"""IREE: compiles in a child process, runs in this one; weights are named parameters."""
