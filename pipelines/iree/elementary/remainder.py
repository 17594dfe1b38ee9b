"""The remainder of a division."""

from __future__ import annotations

import math

from pipelines.iree.elementary.scalar import Scalar, integer, repeat, select, with_sign_of

# How many bits of the quotient one step of the division computes.
_STEP = 11


def fmod(x: Scalar, y: Scalar) -> Scalar:
    """Returns the exact remainder of `x / y`, rounded toward zero, with the sign of `x`."""
    dividend, divisor = x.size(), y.size()
    above, exponent = _significand(dividend)
    below, lowest = _significand(divisor)
    # Avoid an integer division by zero; the result is replaced by NaN below.
    below = select(below.equals(0), integer(1), below)
    first = above % below
    left = exponent - lowest

    def more(_rest: Scalar, left: Scalar) -> Scalar:
        return left > 0

    def advance(rest: Scalar, left: Scalar) -> tuple[Scalar, Scalar]:
        step = select(left < _STEP, left, integer(_STEP))
        return (rest << step) % below, left - step

    rest, _ = repeat((first, left), more, advance)
    value = _scaled(rest, lowest)
    value = select(dividend < divisor, dividend, value)
    undefined = divisor.equals(0) | dividend.equals(math.inf) | x.is_nan() | y.is_nan()
    return with_sign_of(select(undefined, math.nan, value), x)


def _significand(x: Scalar) -> tuple[Scalar, Scalar]:
    """Returns the integers m, below 2^53, and e of x = m 2^(e - 1075), for a positive x."""
    bits = x.bits()
    field = bits >> 52
    normal = field > 0
    significand = (bits & (2**52 - 1)) | select(normal, integer(2**52), integer(0))
    return significand, select(normal, field, integer(1))


def _scaled(significand: Scalar, exponent: Scalar) -> Scalar:
    """Returns m 2^(e - 1075), which is exact."""
    # A single power of two may overflow or underflow; two factors do not.
    half = exponent >> 1
    first = ((half + 512) << 52).as_bits()
    second = ((exponent - half + 512) << 52).as_bits()
    # 2^(half - 511) · 2^(exponent - half - 511) · 2^-53.
    return significand.to_float() * 2.0**-53 * first * second
