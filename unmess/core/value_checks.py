"""Assertions that unmess adds, for values that an operator of eager PyTorch refuses."""

# How their messages begin. Output dialects without assertions leave these out.
PREFIX = "invalid value: "
