"""Exponentials, hyperbolic functions and their inverses, of complex numbers.

Infinities, NaN and the signs of zeros are those of C99, as in eager. The formulas of `arcsine` and
`arccosine` are W. Kahan's, from "Branch Cuts for Complex Elementary Functions".
"""

from __future__ import annotations

import math

import torch

from importers.decompositions.complex_pair import Complex


def exponential(z: Complex) -> Complex:
    """Returns e^z."""
    x, y = z.real, z.imaginary
    real, imaginary = _scaled(x, torch.cos(y)), _scaled(x, torch.sin(y))
    imaginary = torch.where(y == 0, y, imaginary)
    no_angle = ~torch.isfinite(y)
    real = torch.where((x == torch.inf) & no_angle, torch.inf, real)
    vanishes = (x == -torch.inf) & no_angle
    imaginary = torch.where(vanishes, 0.0 * _sign(y), imaginary)
    return Complex(torch.where(vanishes, 0.0, real), imaginary)


def hyperbolic_cosine(z: Complex) -> Complex:
    """Returns cosh(z)."""
    x, y = z.real, z.imaginary
    cosine, sine = torch.cos(y), torch.sin(y)
    real = torch.where(_is_infinite_without_angle(z), torch.inf, _of_cosine(x, cosine))
    # The product of zero and infinity or NaN is zero here.
    is_nan = torch.isnan(x) | torch.isnan(sine)
    zero = torch.where(is_nan, 0.0, 0.0 * _sign(x) * _sign(sine))
    return Complex(real, torch.where((x == 0) | (y == 0), zero, _of_sine(x, sine)))


def hyperbolic_sine(z: Complex) -> Complex:
    """Returns sinh(z)."""
    x, y = z.real, z.imaginary
    cosine, sine = torch.cos(y), torch.sin(y)
    real = torch.where(_is_infinite_without_angle(z), torch.inf, _of_sine(x, cosine))
    real = torch.where((x == 0) & torch.isnan(cosine), x, real)
    return Complex(real, torch.where(y == 0, y, _of_cosine(x, sine)))


def hyperbolic_tangent(z: Complex) -> Complex:
    """Returns tanh(z)."""
    x, y = z.real, z.imaginary
    cosine = torch.cos(y)
    both = torch.sin(y) * cosine
    # Where the squares overflow, the real part is 1.
    large = x.abs() > -math.log(torch.finfo(z.dtype).eps)
    small = torch.where(large, 1.0, x)
    lift = torch.sinh(small)
    divisor = lift * lift + cosine * cosine
    real = torch.where(large, _sign(x) + 0 * both, lift * torch.cosh(small) / divisor)
    real = torch.where(torch.isinf(x), _sign(x), real)
    imaginary = torch.where(large, 4 * both * torch.exp(-2 * x.abs()), both / divisor)
    imaginary = torch.where(_is_infinite_without_angle(z), 0.0 * _sign(y), imaginary)
    return Complex(torch.where(x == 0, x, real), torch.where(y == 0, y, imaginary))


def _scaled(x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """Returns e^x · factor. If e^x overflows, the product may still be finite."""
    half = torch.exp(x / 2)
    return torch.where(x > _limit(x), half * factor * half, torch.exp(x) * factor)


def _of_cosine(x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """Returns cosh(x) · factor."""
    size = x.abs()
    return torch.where(size > _limit(x), _scaled(size, factor / 2), torch.cosh(x) * factor)


def _of_sine(x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """Returns sinh(x) · factor."""
    size = x.abs()
    far = _sign(x) * _scaled(size, factor / 2)
    return torch.where(size > _limit(x), far, torch.sinh(x) * factor)


def _limit(x: torch.Tensor) -> float:
    return math.log(torch.finfo(x.dtype).max) - 1


def _sign(x: torch.Tensor) -> torch.Tensor:
    """Returns 1 or -1, also for zeros."""
    return torch.copysign(torch.ones_like(x), x)


def _is_infinite_without_angle(z: Complex) -> torch.Tensor:
    return torch.isinf(z.real) & ~torch.isfinite(z.imaginary)


def magnitude(z: Complex) -> torch.Tensor:
    """Returns |z|. If one part is infinite, it is infinite, even if the other part is NaN."""
    x, y = z.real.abs(), z.imaginary.abs()
    large, small = torch.maximum(x, y), torch.minimum(x, y)
    ratio = small / torch.where(large == 0, 1, large)
    infinite = torch.isinf(x) | torch.isinf(y)
    return torch.where(infinite, torch.inf, large * torch.sqrt(1 + ratio * ratio))


def square_root(z: Complex) -> Complex:
    """Returns the square root whose real part is not negative."""
    x, y = z.real.abs(), z.imaginary.abs()
    # Halve large numbers twice, because the sum of their magnitude and a part could overflow.
    half = torch.finfo(z.dtype).max / 4
    scale = torch.where((x > half) | (y > half), 0.25, 1.0).to(z.dtype)
    scaled = Complex(x * scale, y * scale)
    # If the real part is negative, swap the roles of the two parts to avoid cancellation.
    # The half of a small number could be subnormal, and count as 0.
    root = torch.sqrt(magnitude(scaled) + scaled.real)
    smaller = scaled.imaginary / torch.where(root == 0, 1, root) * math.sqrt(0.5)
    larger = root * math.sqrt(0.5)
    back = torch.where(scale < 1, 2.0, 1.0).to(z.dtype)
    larger, smaller = larger * back, smaller * back
    right = ~(z.real < 0)
    real = torch.where(right, larger, smaller)
    imaginary = torch.where(right, smaller, larger)
    # The root of x ± i·∞ is ∞ ± i·∞.
    infinite = torch.isinf(y)
    real = torch.where(infinite, torch.inf, real)
    imaginary = torch.where(infinite, torch.inf, imaginary)
    return Complex(real, torch.copysign(imaginary, z.imaginary))


def arcsine(z: Complex) -> Complex:
    """Returns asin(z)."""
    return _over_i(hyperbolic_arcsine(_times_i(z)))


def hyperbolic_arcsine(z: Complex) -> Complex:
    """Returns asinh(z)."""
    x, y = z.real, z.imaginary
    below, above = square_root(Complex(1 + y, -x)), square_root(Complex(1 - y, x))
    real = torch.asinh(above.imaginary * below.real - above.real * below.imaginary)
    imaginary = torch.atan2(y, below.real * above.real - below.imaginary * above.imaginary)
    # Without the 1 for large numbers: the products of the roots could overflow.
    large = _is_large(z)
    real = torch.where(large, torch.copysign(_log_of_twice(z), x), real)
    imaginary = torch.where(large, torch.atan2(y, x.abs()), imaginary)
    return Complex(real, torch.where(torch.isnan(x) & (y == 0), y, imaginary))


def arccosine(z: Complex) -> Complex:
    """Returns acos(z)."""
    x, y = z.real, z.imaginary
    below, above = square_root(Complex(1 - x, -y)), square_root(Complex(1 + x, y))
    real = 2 * torch.atan2(below.real, above.real)
    imaginary = torch.asinh(above.real * below.imaginary - above.imaginary * below.real)
    large = _is_large(z)
    real = torch.where(large, torch.atan2(y.abs(), x), real)
    imaginary = torch.where(large, -torch.copysign(_log_of_twice(z), y), imaginary)
    return Complex(torch.where(torch.isnan(y) & (x == 0), math.pi / 2, real), imaginary)


def hyperbolic_arccosine(z: Complex) -> Complex:
    """Returns acosh(z)."""
    turned = arccosine(z)
    return Complex(turned.imaginary.abs(), torch.copysign(turned.real, z.imaginary))


def arctangent(z: Complex) -> Complex:
    """Returns atan(z)."""
    return _over_i(hyperbolic_arctangent(_times_i(z)))


def hyperbolic_arctangent(z: Complex) -> Complex:
    """Returns atanh(z)."""
    x, y = z.real.abs(), z.imaginary.abs()
    rest = 1 - x
    real = torch.log1p(4 * x / (rest * rest + y * y)) / 4
    # Next to the pole at 1, the squares underflow.
    tiny = torch.finfo(z.dtype).tiny ** 0.5
    real = torch.where((rest == 0) & (y < tiny), (math.log(2) - torch.log(y)) / 2, real)
    imaginary = torch.atan2(2 * y, rest * (1 + x) - y * y) / 2
    # Without the 1 for large numbers, whose squares overflow. Half of them has a finite magnitude.
    large, size = _is_large(z), magnitude(z.map(torch.mul, 0.5))
    quotient = torch.where(torch.isinf(size), 0.0, x / size / size / 4)
    real = torch.where(large, quotient, real)
    imaginary = torch.where(large & ~torch.isnan(y) & ~torch.isnan(size), math.pi / 2, imaginary)
    real = torch.where(torch.isnan(y) & (x == 0), 0.0, real)
    return Complex(torch.copysign(real, z.real), torch.copysign(imaginary, z.imaginary))


def _is_large(z: Complex) -> torch.Tensor:
    """Returns where z² + 1 and z² are equal."""
    bound = 4 / torch.finfo(z.dtype).eps
    return (z.real.abs() > bound) | (z.imaginary.abs() > bound)


def _log_of_twice(z: Complex) -> torch.Tensor:
    # Halve first, because the magnitude of the largest numbers overflows.
    return torch.log(magnitude(z.map(torch.mul, 0.5))) + 2 * math.log(2)


def _times_i(z: Complex) -> Complex:
    return Complex(-z.imaginary, z.real)


def _over_i(z: Complex) -> Complex:
    return Complex(z.imaginary, -z.real)
