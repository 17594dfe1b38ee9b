"""Arithmetic on unsigned integers, which PyTorch has for 8 bits only.

Those of 16 and 32 bits are computed in wider signed integers. Those of 64 bits are computed by
their bits in int64: sums and products are the same, order and quotients are not.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

Tensor = torch.Tensor
WIDER = {torch.uint16: torch.int32, torch.uint32: torch.int64, torch.uint64: torch.int64}
_SIGN = torch.iinfo(torch.int64).min


def in_wider(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function for all integers; what does not fit wraps around."""

    def call(*operands: Tensor) -> Tensor:
        kind = operands[0].dtype
        if kind not in WIDER:
            return function(*operands)
        return narrow(function(*(x.to(WIDER[kind]) for x in operands)), kind)

    return call


def in_order(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A comparison or choice of two for all integers."""

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
    """An integer as an unsigned one, without the bits that do not fit."""
    return (x & torch.iinfo(kind).max if kind != torch.uint64 else x).to(kind)


def quotient(a: Tensor, b: Tensor) -> Tensor:
    """The quotient of integers, cut."""
    kind = a.dtype
    if kind == torch.uint64:
        return _divided(a.to(torch.int64), b.to(torch.int64)).to(kind)
    return in_wider(lambda x, y: torch.div(x, y, rounding_mode="trunc"))(a, b)


def remainder(a: Tensor, b: Tensor) -> Tensor:
    """What the quotient of unsigned integers leaves."""
    kind = a.dtype
    if kind == torch.uint64:
        a, b = a.to(torch.int64), b.to(torch.int64)
        return (a - _divided(a, b) * b).to(kind)
    return in_wider(torch.remainder)(a, b)


def _divided(a: Tensor, b: Tensor) -> Tensor:
    """The quotient of the bits of uint64."""
    half = torch.bitwise_right_shift(a, 1) & torch.iinfo(torch.int64).max
    positive = torch.where(b > 0, b, torch.ones_like(b))
    found = torch.div(half, positive, rounding_mode="trunc") * 2
    rest = a - found * positive
    found = found + ((rest ^ _SIGN) >= (positive ^ _SIGN)).to(torch.int64)
    # A divisor above 2^63 goes once or not at all. Division by 0 is as in int64.
    large = ((a ^ _SIGN) >= (b ^ _SIGN)).to(torch.int64)
    return torch.where(
        b < 0, large, torch.where(b == 0, torch.div(a, b, rounding_mode="trunc"), found)
    )
