"""Assertions that unmess adds, for values that an operator rejects in eager PyTorch."""

# Prefix of their messages. Output dialects without assertions omit these checks.
PREFIX = "invalid value: "
