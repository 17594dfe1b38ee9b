"""Sine, cosine, tangent and their inverses."""

from __future__ import annotations

import math

from pipelines.elementary.quarter_turns import reduced
from pipelines.ir.expressions import Scalar, constant, polynomial, select, with_sign_of

# fdlibm's s_atan.c: coefficients of x², for x up to 7/16. Each step has an edge and a number. From
# the edge on, the polynomial computes the difference to the arc tangent of the number.
_ARC = (
    *(1.62858201153657823623e-02, -3.65315727442169155270e-02, 4.97687799461593236017e-02),
    *(-5.83357013379057348645e-02, 6.66107313738753120669e-02, -7.69187620504482999495e-02),
    *(9.09088713343650656196e-02, -1.11111104054623557880e-01, 1.42857142725034663711e-01),
    *(-1.99999999998764832476e-01, 3.33333333333329318027e-01),
)
_ARC_STEPS = ((0.4375, 0.5), (0.6875, 1.0), (1.1875, 1.5), (2.4375, math.inf))


def sin(x: Scalar) -> Scalar:
    """The sine of any number."""
    quarter, sine, cosine = reduced(x)
    value = select((quarter & 1).equals(1), cosine, sine)
    value = select((quarter & 2).equals(2), -value, value)
    # Keep the sign of a zero.
    return select(x.equals(0), x, value)


def cos(x: Scalar) -> Scalar:
    """The cosine of any number."""
    quarter, sine, cosine = reduced(x)
    value = select((quarter & 1).equals(1), sine, cosine)
    return select(((quarter + 1) & 2).equals(2), -value, value)


def tan(x: Scalar) -> Scalar:
    """The tangent of any number."""
    quarter, sine, cosine = reduced(x)
    value = select((quarter & 1).equals(1), -(cosine / sine), sine / cosine)
    return select(x.equals(0), x, value)


def atan(x: Scalar) -> Scalar:
    """The arc tangent."""
    size = x.size()
    reduced, base, rest = size, constant(0.0), constant(0.0)
    for edge, middle in _ARC_STEPS:
        beyond = size >= edge
        if middle == math.inf:
            ratio, angle = -1 / size, math.pi / 2
        else:
            ratio, angle = (size - middle) / (1 + middle * size), math.atan(middle)
        reduced = select(beyond, ratio, reduced)
        base = select(beyond, angle, base)
        rest = select(beyond, _ANGLE_RESTS[middle], rest)
    square = reduced * reduced
    value = base - ((reduced * square * polynomial(_ARC, square) - rest) - reduced)
    # Return zeros and NaN unchanged.
    return select(size > 0, with_sign_of(value, x), x)


# The rounding errors of the arc tangents (fdlibm).
_ANGLE_RESTS = {
    0.5: 2.26987774529616870924e-17,
    1.0: 3.06161699786838301793e-17,
    1.5: 1.39033110312309984516e-17,
    math.inf: 6.12323399573676603587e-17,
}


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of (x, y), from -π to π, with C's rules for zeros and infinities."""
    width, height = x.size(), y.size()
    same = width.equals(height)
    # The quotient of two zeros, or of two infinities, would be NaN.
    ratio = select(same & (width.equals(0) | width.equals(math.inf)), width / width, height / width)
    ratio = select(same & width.equals(0), 0, select(same & width.equals(math.inf), 1, ratio))
    angle = atan(ratio)
    left = x.bits() < 0
    angle = select(left, math.pi - (angle - 2 * _ANGLE_RESTS[math.inf]), angle)
    angle = with_sign_of(angle, y)
    return select(x.is_nan() | y.is_nan(), x + y, angle)


def asin(x: Scalar) -> Scalar:
    """The arc sine; NaN for a number beyond -1 or 1."""
    return select(x.equals(0), x, atan2(x, ((1 - x) * (1 + x)).math("sqrt")))


def acos(x: Scalar) -> Scalar:
    """The arc cosine; NaN for a number beyond -1 or 1."""
    return 2 * atan2((1 - x).math("sqrt"), (1 + x).math("sqrt"))
