"""Lowers the torch dialect to output dialects, and runs programs."""
