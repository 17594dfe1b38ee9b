"""Arithmetic on unsigned integers, which PyTorch supports for 8 bits only.

uint16 and uint32 are computed in wider signed integers. uint64 is computed on its bits in int64:
sums and products are the same, but order and quotients need special code.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

Tensor = torch.Tensor
WIDER = {torch.uint16: torch.int32, torch.uint32: torch.int64, torch.uint64: torch.int64}
_SIGN = torch.iinfo(torch.int64).min


def in_wider(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Extends a function to all integer types. Results wrap around."""

    def call(*operands: Tensor) -> Tensor:
        kind = operands[0].dtype
        if kind not in WIDER:
            return function(*operands)
        return narrow(function(*(x.to(WIDER[kind]) for x in operands)), kind)

    return call


def in_order(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Extends a comparison, minimum or maximum to all integer types."""

    def call(a: Tensor, b: Tensor) -> Tensor:
        kind = a.dtype
        if kind not in WIDER:
            return function(a, b)
        a, b = a.to(WIDER[kind]), b.to(WIDER[kind])
        if kind == torch.uint64:
            a, b = a ^ _SIGN, b ^ _SIGN
        result = function(a, b)
        if result.dtype == torch.bool:
            return result
        return narrow(result ^ _SIGN if kind == torch.uint64 else result, kind)

    return call


def narrow(x: Tensor, kind: torch.dtype) -> Tensor:
    """Converts an integer to an unsigned type, and drops the bits that do not fit."""
    return (x & torch.iinfo(kind).max if kind != torch.uint64 else x).to(kind)


def quotient(a: Tensor, b: Tensor) -> Tensor:
    """Returns the truncated quotient of integers."""
    kind = a.dtype
    if kind == torch.uint64:
        return _divided(a.to(torch.int64), b.to(torch.int64)).to(kind)
    return in_wider(lambda x, y: torch.div(x, y, rounding_mode="trunc"))(a, b)


def remainder(a: Tensor, b: Tensor) -> Tensor:
    """Returns the remainder of unsigned integers."""
    kind = a.dtype
    if kind == torch.uint64:
        a, b = a.to(torch.int64), b.to(torch.int64)
        return (a - _divided(a, b) * b).to(kind)
    return in_wider(torch.remainder)(a, b)


def _divided(a: Tensor, b: Tensor) -> Tensor:
    """Returns the quotient of uint64 numbers, held as bits in int64."""
    half = torch.bitwise_right_shift(a, 1) & torch.iinfo(torch.int64).max
    positive = torch.where(b > 0, b, torch.ones_like(b))
    found = torch.div(half, positive, rounding_mode="trunc") * 2
    rest = a - found * positive
    found = found + ((rest ^ _SIGN) >= (positive ^ _SIGN)).to(torch.int64)
    # With a divisor of at least 2^63, the quotient is 0 or 1. Division by 0 is as in int64.
    large = ((a ^ _SIGN) >= (b ^ _SIGN)).to(torch.int64)
    return torch.where(
        b < 0, large, torch.where(b == 0, torch.div(a, b, rounding_mode="trunc"), found)
    )
