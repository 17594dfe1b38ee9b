"""Compiles, caches, loads and calls machine code in this process."""
