"""Checks whether upstream MLIR, without torch-mlir, accepts a module."""
