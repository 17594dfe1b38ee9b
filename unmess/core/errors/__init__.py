"""Errors and warnings for users, and the source lines that they name."""
