"""Square roots, and inverses of trigonometric and hyperbolic functions, of complex numbers.

Infinities, NaN and the signs of zeros are those of C99, as in eager. The formulas of `arcsine` and
`arccosine` are W. Kahan's, from "Branch Cuts for Complex Elementary Functions".
"""

from __future__ import annotations

import math

import torch

from importers.decompositions.complex_pair import Complex


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
