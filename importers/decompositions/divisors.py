"""Common divisors and multiples of integers."""

from __future__ import annotations

import math

import torch

from importers.decompositions.linear_algebra.loops import repeat


def gcd(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns the greatest common divisors of integers, by Euclid's algorithm; 0 of two zeros."""
    dtype = torch.result_type(a, b)
    wide = torch.promote_types(dtype, torch.int32)
    small, large = torch.broadcast_tensors(a.to(dtype).abs().to(wide), b.to(dtype).abs().to(wide))

    def step(_k, small, large):
        done = small == 0
        remainder = torch.fmod(large, torch.where(done, 1, small))
        return torch.where(done, small, remainder), torch.where(done, large, small)

    return repeat(_rounds(dtype), step, (small, large))[1].to(dtype)


def lcm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns the least common multiples of integers; 0 if one of them is 0."""
    dtype = torch.result_type(a, b)
    wide = torch.promote_types(dtype, torch.int32)
    a, b = a.to(wide), b.to(wide)
    divisor = gcd(a, b)
    factor = torch.div(a, torch.where(divisor == 0, 1, divisor), rounding_mode="trunc")
    return torch.where(divisor == 0, 0, (factor * b).abs()).to(dtype)


def _rounds(dtype: torch.dtype) -> int:
    """Returns the largest number of divisions, which two Fibonacci numbers need."""
    golden = (1 + math.sqrt(5)) / 2
    return math.ceil(torch.iinfo(dtype).bits * math.log(2, golden)) + 1
