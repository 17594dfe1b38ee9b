"""Decompositions of matrices, computed by loops over their columns."""
