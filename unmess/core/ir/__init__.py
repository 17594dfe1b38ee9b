"""Parses and inspects MLIR modules."""
