"""Builds and inspects MLIR operations, for the rewrites of all pipelines."""
