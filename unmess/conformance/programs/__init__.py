"""Random programs of PyTorch operators."""
