"""Ranges of numbers in a floating-point dtype."""

from __future__ import annotations

import math
from typing import Any

import torch

from importers.decompositions.numbers import REDUCED_FLOATS


def arange(
    start: Any, end: Any, step: Any = 1, *, dtype: torch.dtype | None = None, **options: Any
) -> torch.Tensor:
    """Returns the numbers from `start` to `end`, as `torch.arange` does.

    Returns NotImplemented for dtypes of integers, and for known numbers in float32 and float64.
    """
    numbers = (start, end, step)
    if dtype is None and any(isinstance(each, (float, torch.SymFloat)) for each in numbers):
        dtype = torch.get_default_dtype()
    if dtype is None or not dtype.is_floating_point:
        return NotImplemented
    wide = torch.float32 if dtype in REDUCED_FLOATS else dtype
    if wide == dtype and all(isinstance(each, (int, float)) for each in numbers):
        return NotImplemented
    if all(isinstance(each, (int, torch.SymInt)) for each in numbers):
        return torch.arange(start, end, step, dtype=torch.int64, **options).to(dtype)
    count = math.ceil((end - start) / step)
    place = torch.arange(count, dtype=torch.int64, **options)
    return (place.to(wide) * step + start).to(dtype)
