"""Reads and writes files safely."""
