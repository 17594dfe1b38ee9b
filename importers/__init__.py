"""From a PyTorch model, wherever it is, to the torch dialect."""
