"""Linear algebra operators, computed by loops over columns."""
