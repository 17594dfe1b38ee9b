"""Lowers the torch dialect to exits, and runs programs."""
