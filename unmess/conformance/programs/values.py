"""Dtypes, and the numbers that fill inputs."""

from __future__ import annotations

import math

import torch

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
SIGNED = (torch.int64, torch.int32, torch.int16, torch.int8)
INTEGERS = (*SIGNED, torch.uint8)
COMPLEX = (torch.complex64, torch.complex128)
BOOL = (torch.bool,)
REAL = (*FLOATS, *INTEGERS)
ANY = (*REAL, *COMPLEX, *BOOL)

# Maximum numbers of bits after and before the binary point of exact values. The dtype has more
# bits, so that sums and products of a few exact values are exact in any order.
_EXACT_BITS = {
    torch.float64: (16, 28),
    torch.float32: (6, 10),
    torch.float16: (2, 5),
    torch.bfloat16: (1, 4),
    torch.complex64: (4, 6),
    torch.complex128: (16, 20),
}

_SMALL = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, -3.0)
_GENERIC = (0.1, -0.7, 1.3, 2.9, -3.3, 0.01, -1.9, 0.57, 1.71, -0.33, 0.0)
_POSITIVE = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 0.75)
_SPECIAL = (math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, -1.5)


def pool(kind: str, dtype: torch.dtype) -> list:
    """Returns the numbers that cyclically fill an input of a kind.

    Args:
        kind: `small` (exact in every dtype), `generic`, `positive`, `special` (NaN, infinities and
            signed zeros; the extremes of integers).
    """
    if dtype == torch.bool:
        return [True, False, False, True, True]
    if dtype in COMPLEX:
        return [complex(a, b) for a, b in zip(_SMALL, _SMALL[3:] + _SMALL[:3], strict=True)]
    if dtype in FLOATS:
        return list(
            {"generic": _GENERIC, "positive": _POSITIVE, "special": _SPECIAL}.get(kind, _SMALL)
        )
    limits = torch.iinfo(dtype)
    if kind == "positive":
        return [1, 2, 3, 5, 7]
    if kind == "special":
        return [limits.min, limits.max, 0, 1, limits.max - 1]
    return [0, 1, 2, 3, 4, 5] if dtype == torch.uint8 else [-3, -2, -1, 0, 1, 2, 4]


def is_exact(value: torch.Tensor) -> bool:
    """Returns whether every element is a number with few significant bits, an infinity or NaN."""
    if value.dtype not in _EXACT_BITS:
        return True
    behind, before = _EXACT_BITS[value.dtype]
    if value.is_complex():
        value = torch.view_as_real(value.resolve_conj())
    scaled = value.double() * 2.0**behind
    fits = (scaled == scaled.round()) & (value.double().abs() <= 2.0**before)
    return bool((fits | ~torch.isfinite(scaled)).all())
