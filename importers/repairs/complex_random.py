"""Random complex numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from importers.decompositions.complex_pair import REAL, Complex

# The parts of a normal sample have half its variance each.
HALF_VARIANCE = math.sqrt(0.5)


def drawn(draw: Callable[..., torch.Tensor], scale: float = 1.0) -> Callable[..., Complex]:
    """Returns `rand` or `randn` for a complex `dtype`; the parts are multiplied by `scale`."""

    def samples(size: Sequence[int], *, dtype: torch.dtype, **_options: Any) -> Complex:
        real, imaginary = (draw(size, dtype=REAL[dtype]) * scale for _ in range(2))
        return Complex(real, imaginary)

    return samples


def drawn_like(draw: Callable[..., torch.Tensor], scale: float = 1.0) -> Callable[..., Any]:
    """Returns `rand_like` or `randn_like` where the tensor or the samples are complex."""
    complex_samples = drawn(draw, scale)

    def samples(x: Any, *, dtype: torch.dtype | None = None, **_options: Any) -> Any:
        if dtype is None:
            dtype = next(name for name, real in REAL.items() if real == x.dtype)
        if dtype in REAL:
            return complex_samples(x.shape, dtype=dtype)
        return draw(x.shape, dtype=dtype)

    return samples


def uniform(z: Complex, low: float = 0.0, high: float = 1.0, **_options: Any) -> Complex:
    """Returns samples of the shape of `z` whose parts are uniform between two numbers."""
    return z.map(torch.ops.aten.uniform, low, high)


def normal(z: Complex, mean: float = 0.0, std: float = 1.0, **_options: Any) -> Complex:
    """Returns normal samples of the shape of `z`; both parts have the mean `mean`, as in eager."""
    return z.map(torch.ops.aten.normal_functional, mean, std * HALF_VARIANCE)
