"""Convolutions of sequences whose first dimension is time."""

from __future__ import annotations

import torch


def conv_tbc(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, pad: int = 0
) -> torch.Tensor:
    """Computes a 1-d convolution along the first dimension.

    Args:
        x: (time, batch, channels).
        weight: (kernel size, channels, output channels).
        bias: (output channels).
        pad: zeros before and after the sequence.

    Returns:
        (time, batch, output channels).
    """
    found = torch.nn.functional.conv1d(x.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return found.permute(2, 0, 1)
