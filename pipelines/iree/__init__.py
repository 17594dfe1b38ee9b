"""IREE: compiled in process, weights as named parameters."""
