"""Exponentials and hyperbolic functions of complex numbers.

Infinities, NaN and the signs of zeros are those of C99, as in eager.
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
