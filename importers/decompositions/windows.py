"""Window functions, and the frequencies of Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import torch

from importers.decompositions.overloads import takes_overload


def _hamming(place: torch.Tensor, n: int, alpha: float = 0.54, beta: float = 0.46) -> torch.Tensor:
    return torch.cos(place * (2 * math.pi / n)) * -beta + alpha


def _blackman(place: torch.Tensor, n: int) -> torch.Tensor:
    angle = place * (math.pi / n)
    return torch.cos(angle * 4) * 0.08 - torch.cos(angle * 2) * 0.5 + 0.42


def _bartlett(place: torch.Tensor, n: int) -> torch.Tensor:
    rising = place * (2.0 / n)
    return torch.where(place <= n // 2, rising, 2 - rising)


def _kaiser(place: torch.Tensor, n: int, beta: float = 12.0) -> torch.Tensor:
    distance = place * (2.0 / n) - 1
    largest = torch.special.i0(torch.full((), beta, dtype=place.dtype))
    return torch.special.i0(beta * torch.sqrt(1 - distance * distance)) / largest


# By operator: computes the window at each place i of 0, 1, 2, ….
_VALUES = {
    "hamming_window": _hamming,
    "blackman_window": _blackman,
    "bartlett_window": _bartlett,
    "kaiser_window": _kaiser,
}


@takes_overload
def window(
    overload: torch._ops.OpOverload,
    length: int,
    periodic: bool = True,
    *parameters: float,
    dtype: torch.dtype | None = None,
    **_options: Any,
) -> torch.Tensor:
    """Computes a window. A periodic one lacks its last element, and one of length 1 is 1."""
    dtype = dtype or torch.get_default_dtype()
    if length <= 1:
        return torch.ones(length, dtype=dtype)
    values = _VALUES[overload.overloadpacket.__name__]
    place = torch.arange(length, dtype=dtype)
    return values(place, length if periodic else length - 1, *parameters)


def frequencies(
    n: int, d: float = 1.0, *, dtype: torch.dtype | None = None, **_options: Any
) -> torch.Tensor:
    """Returns the frequencies of a transform of `n` samples at the distance `d`."""
    place = torch.arange(n)
    return _scaled(torch.where(place < (n + 1) // 2, place, place - n), n, d, dtype)


def real_frequencies(
    n: int, d: float = 1.0, *, dtype: torch.dtype | None = None, **_options: Any
) -> torch.Tensor:
    """Returns the frequencies of a transform of `n` real samples at the distance `d`."""
    return _scaled(torch.arange(n // 2 + 1), n, d, dtype)


def _scaled(place: torch.Tensor, n: int, d: float, dtype: torch.dtype | None) -> torch.Tensor:
    return place.to(dtype or torch.get_default_dtype()) * (1.0 / (n * d))
