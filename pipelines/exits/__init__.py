"""Rewrites for the exits in addition to torch-mlir's own passes, one file per concern."""
