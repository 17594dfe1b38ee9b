"""Changes the weights of tiny language models so that their texts are less uniform."""

import torch


def varied(model):
    """Returns a model with larger weights, whose text does not repeat one token."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    return model.eval()
