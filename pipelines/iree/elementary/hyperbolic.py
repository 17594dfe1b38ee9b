"""Hyperbolic functions and their inverses, with full precision near zero."""

from __future__ import annotations

import math

from pipelines.iree.elementary.scalar import Scalar, polynomial, select, with_sign_of


def expm1(x: Scalar) -> Scalar:
    """e^x - 1."""
    # Use the series where the difference cancels.
    near = x * polynomial([1 / math.factorial(power) for power in range(17, 0, -1)], x)
    value = select(x.size() < 0.5, near, x.math("exp") - 1)
    return select(x.equals(0), x, value)


def log1p(x: Scalar) -> Scalar:
    """log(1 + x)."""
    total = 1 + x
    # Corrects for the rounding of the sum, to first order.
    value = total.math("log") + (x - (total - 1)) / total
    value = select(total.equals(0), -math.inf, value)
    return select(x.equals(0) | x.equals(math.inf), x, value)


def sinh(x: Scalar) -> Scalar:
    """The hyperbolic sine."""
    grown = expm1(x.size())
    half = (x.size() * 0.5).math("exp")
    value = select(x.size() < 20, (grown + grown / (grown + 1)) * 0.5, half * 0.5 * half)
    return with_sign_of(value, x)


def asinh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic sine."""
    size = x.size()
    square = size * size
    near = log1p(size + square / (1 + (square + 1).math("sqrt")))
    far = size.math("log") + math.log(2)
    return with_sign_of(select(size < 2.0**28, near, far), x)


def acosh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic cosine."""
    above = x - 1
    near = log1p(above + (2 * above + above * above).math("sqrt"))
    return select(x < 2.0**28, near, x.math("log") + math.log(2))


def atanh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic tangent."""
    size = x.size()
    value = log1p(2 * size / (1 - size)) * 0.5
    return with_sign_of(value, x)


def tanh(x: Scalar) -> Scalar:
    """The hyperbolic tangent."""
    size = x.size()
    power = expm1(select(size < 22, size, 22) * 2)
    value = select(x.is_nan(), x.size(), power / (power + 2))
    return with_sign_of(value, x)
