"""Checks of indices that are data, for every runner."""
