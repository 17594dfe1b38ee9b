"""Captures models from any source and imports them into the torch dialect."""
