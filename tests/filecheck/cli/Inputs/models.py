"""Models for commands: one that works, and models with errors."""

import torch


class NotBuilt(torch.nn.Module):
    def __init__(self, width):
        super().__init__()


def model():
    return torch.nn.ReLU(), (torch.ones(2),)


def not_here():
    raise FileNotFoundError("weights.bin")


def no_arguments():
    return torch.nn.ReLU()


def breaks():
    return (lambda x: x @ torch.ones(3)), (torch.ones(2),)


# One operator that lowers everywhere, and one that lowers nowhere.
def no_lowering():
    return (lambda x: torch.linalg.eig(torch.relu(x))), (torch.ones(2, 2),)


number = 3
