"""Reinterpretation of the bits of elements as another dtype."""

from __future__ import annotations

from typing import Any

import torch

_INTEGERS = {8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}


def view_dtype(x: torch.Tensor, dtype: torch.dtype) -> Any:
    """Returns `x.view(dtype)`, whose last dimension changes with the width of the dtype.

    A wide element consists of narrow elements with the lowest bits first. Returns NotImplemented
    for two different dtypes of the same width, unless one is complex or boolean.
    """
    if x.dtype == dtype:
        return x.clone()
    if x.is_complex():
        parts = torch.view_as_real(x).flatten(-2)
        return parts if parts.dtype == dtype else parts.view(dtype)
    if dtype.is_complex:
        real = dtype.to_real()
        parts = x if x.dtype == real else x.view(real)
        return torch.view_as_complex(parts.reshape(*parts.shape[:-1], parts.shape[-1] // 2, 2))
    if x.dtype == torch.bool:
        return x.to(torch.uint8).view(dtype)
    if dtype == torch.bool:
        # Eager keeps bytes other than 0 and 1, which booleans elsewhere cannot hold.
        return torch.ne(x.view(torch.uint8), 0)
    given, wanted = 8 * x.dtype.itemsize, 8 * dtype.itemsize
    if given == wanted:
        return NotImplemented
    words = x if x.dtype == _INTEGERS[given] else x.view(_INTEGERS[given])
    words = words.to(torch.int64)
    if given > wanted:
        shifts = torch.arange(0, given, wanted)
        parts = torch.bitwise_right_shift(words.unsqueeze(-1), shifts) & ((1 << wanted) - 1)
        result = parts.flatten(-2)
    else:
        count = wanted // given
        words = words.reshape(*words.shape[:-1], words.shape[-1] // count, count)
        shifts = torch.arange(0, wanted, given)
        result = torch.bitwise_left_shift(words & ((1 << given) - 1), shifts).sum(-1)
    result = result.to(_INTEGERS[wanted])
    return result if result.dtype == dtype else result.view(dtype)
