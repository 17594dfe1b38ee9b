"""Rewrites for the output dialects in addition to torch-mlir's own passes, one file per concern."""
