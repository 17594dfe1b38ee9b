"""The backend `unmess` of `torch.compile`."""
