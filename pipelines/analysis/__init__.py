"""Analyzes the content and the cost of a module from its IR, without running it."""
