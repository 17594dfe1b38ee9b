"""Powers of integers."""

from __future__ import annotations

import torch

_LARGEST = 64


def integer_power(x: torch.Tensor, exponent: float) -> torch.Tensor:
    """`x` to a whole number by repeated multiplication; anything but integers is left."""
    if x.is_floating_point() or x.is_complex() or not isinstance(exponent, int):
        return NotImplemented
    if not 0 <= exponent <= _LARGEST:
        return NotImplemented
    result, square = torch.ones_like(x), x
    while exponent:
        if exponent % 2:
            result = result * square
        exponent //= 2
        if exponent:
            square = square * square
    return result
