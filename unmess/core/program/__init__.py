"""Captured programs, their weights, and the model in eager PyTorch."""
