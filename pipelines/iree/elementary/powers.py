"""Powers and logarithms of other bases."""

from __future__ import annotations

import math

from pipelines.iree.elementary.scalar import Scalar, integer, polynomial, product_rest, select

# log(2) in two parts. The first has 32 bits: its products with exponents are exact.
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


def pow(x: Scalar, y: Scalar) -> Scalar:
    """Returns `x` to the power `y`, with C's rules for signs, zeros and infinities."""
    size = x.size()
    high, low = _logarithm(size)
    product = y * high
    rest = product_rest(y, high, product) + y * low
    finite = product.size() < math.inf
    value = product.math("exp")
    # Multiply by (1 + rest), unless an infinity would make it NaN.
    value = select(finite & (value.size() < math.inf), value + value * rest, value)
    # For zeros and infinities, use their logarithm without a correction.
    edge = size.equals(0) | size.equals(math.inf)
    value = select(edge, (y * select(size.equals(0), -math.inf, math.inf)).math("exp"), value)
    unending = y.size().equals(math.inf)
    grows = (size > 1) ^ (y < 0)
    value = select(unending, select(size.equals(1), 1, select(grows, math.inf, 0)), value)
    whole = y.math("floor").equals(y)
    half = y * 0.5
    odd = whole & ~half.math("floor").equals(half)
    value = select((x.bits() < 0) & odd, -value, value)
    value = select((x < 0) & (size < math.inf) & ~whole, math.nan, value)
    value = select(x.is_nan() | y.is_nan(), x + y, value)
    return select(y.equals(0) | x.equals(1), 1, value)


def _logarithm(x: Scalar) -> tuple[Scalar, Scalar]:
    """Returns the logarithm of a positive number as a sum of two numbers, to 60 bits."""
    tiny = x < 2.0**-1022
    bits = select(tiny, x * 2.0**54, x).bits()
    exponent = (bits >> 52) - 1023 - select(tiny, integer(54), integer(0))
    part = ((bits & (2**52 - 1)) | (1023 << 52)).as_bits()
    upper = part > math.sqrt(2)
    part = select(upper, part * 0.5, part)
    exponent = (exponent + select(upper, integer(1), integer(0))).to_float()
    # log m = 2 (s + s³/3 + …) with s = (m - 1) / (m + 1). The rounding error of s is added, too.
    above, below = part - 1, part + 1
    ratio = above / below
    below_rest = part - (below - 1)
    product = ratio * below
    missing = (above - product) - product_rest(ratio, below, product) - ratio * below_rest
    ratio_rest = missing / below
    square = ratio * ratio
    tail = ratio * square * polynomial([1 / power for power in range(25, 1, -2)], square)
    whole = exponent * _LOG2_HIGH
    high = whole + 2 * ratio
    low = (whole - high) + 2 * ratio
    # Either of the two summands may be the larger one.
    swapped = (2 * ratio - high) + whole
    low = select(whole.size() < (2 * ratio).size(), swapped, low)
    low = low + 2 * (tail + ratio_rest) + exponent * _LOG2_LOW
    total = high + low
    return total, (high - total) + low


def log2(x: Scalar) -> Scalar:
    """The binary logarithm."""
    return _of_base(x, 1.4426950408889634, 2.0355273740931033e-17)


def log10(x: Scalar) -> Scalar:
    """The decimal logarithm."""
    return _of_base(x, 0.4342944819032518, 1.098319650216765e-17)


def _of_base(x: Scalar, scale: float, scale_rest: float) -> Scalar:
    high, low = _logarithm(x)
    product = high * scale
    factor = x * 0 + scale
    value = product + (product_rest(high, factor, product) + low * scale + high * scale_rest)
    value = select(x.equals(0), -math.inf, select(x.equals(math.inf), x, value))
    return select((x < 0) | x.is_nan(), math.nan, value)
