"""Rows, columns and elements of batches of matrices, real or complex.

A matrix here is a real tensor `[..., m, n]`, or a `Complex` of two. Loops know the row or column
that they are at as a tensor, so parts are picked by masks, never by indices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from importers.decompositions.complex_pair import Complex

Matrix = Any  # torch.Tensor | Complex


def split(x: torch.Tensor) -> Matrix:
    """A tensor as what the functions here take."""
    return Complex(torch.real(x), torch.imag(x)) if x.is_complex() else x


def joined(x: Matrix) -> torch.Tensor:
    """The tensor of a matrix."""
    return torch.complex(x.real, x.imaginary) if isinstance(x, Complex) else x


def on_parts(
    function: Callable[..., torch.Tensor], x: Matrix, *args: Any, **options: Any
) -> Matrix:
    """A function that is linear with real coefficients."""
    if isinstance(x, Complex):
        return x.map(function, *args, **options)
    return function(x, *args, **options)


def where(mask: torch.Tensor, x: Matrix, y: Any) -> Matrix:
    """`torch.where`; `y` may be real, or a number."""
    if isinstance(x, Complex):
        other = y if isinstance(y, Complex) else Complex(y, 0.0)
        return Complex(
            torch.where(mask, x.real, other.real), torch.where(mask, x.imaginary, other.imaginary)
        )
    return torch.where(mask, x, y)


def picked(mask: torch.Tensor, x: Matrix, dim: int) -> Matrix:
    """The one element along `dim` for which the mask is true; `dim` stays with size 1."""
    zero = 0.0 if x.dtype.is_floating_point else 0
    return on_parts(lambda part: torch.where(mask, part, zero).sum(dim, keepdim=True), x)


def total(x: Matrix, dim: int) -> Matrix:
    """The sum along `dim`, which stays with size 1."""
    return on_parts(torch.sum, x, dim, keepdim=True)


def real(x: Matrix) -> torch.Tensor:
    """The real part."""
    return x.real if isinstance(x, Complex) else x


def imaginary(x: Matrix) -> torch.Tensor:
    """The imaginary part."""
    return x.imaginary if isinstance(x, Complex) else torch.zeros_like(x)


def conjugate(x: Matrix) -> Matrix:
    """The complex conjugate."""
    return Complex(x.real, -x.imaginary) if isinstance(x, Complex) else x


def transpose(x: Matrix) -> Matrix:
    """Rows and columns exchanged."""
    return on_parts(torch.transpose, x, -2, -1)


def adjoint(x: Matrix) -> Matrix:
    """The conjugate transpose."""
    return conjugate(transpose(x))


def squares(x: Matrix) -> torch.Tensor:
    """The squared magnitude of each element."""
    return x.real * x.real + x.imaginary * x.imaginary if isinstance(x, Complex) else x * x


def sum_of_parts(x: Matrix) -> torch.Tensor:
    """|real| + |imaginary|, which LAPACK compares pivots by."""
    return x.real.abs() + x.imaginary.abs() if isinstance(x, Complex) else x.abs()


def largest_part(x: Matrix) -> torch.Tensor:
    """The larger of |real| and |imaginary|."""
    return torch.maximum(x.real.abs(), x.imaginary.abs()) if isinstance(x, Complex) else x.abs()


def magnitude(x: Matrix) -> torch.Tensor:
    """The absolute value of each element, without overflow on the way."""
    if not isinstance(x, Complex):
        return x.abs()
    large = largest_part(x)
    scale = torch.where(large == 0, 1.0, large)
    return large * torch.sqrt(squares(divided(x, scale)))


def divided(x: Matrix, y: Matrix) -> Matrix:
    """The quotient of each element."""
    if not isinstance(y, Complex):
        return on_parts(torch.div, x, y)
    # By the larger part of the divisor, so that no square overflows or vanishes.
    wide = y.real.abs() >= y.imaginary.abs()
    larger = torch.where(wide, y.real, y.imaginary)
    smaller = torch.where(wide, y.imaginary, y.real)
    ratio = smaller / torch.where(larger == 0, 1.0, larger)
    divisor = larger + smaller * ratio
    if not isinstance(x, Complex):
        x = Complex(x, torch.zeros_like(x))
    top = torch.where(wide, x.real + x.imaginary * ratio, x.real * ratio + x.imaginary)
    side = torch.where(wide, x.imaginary - x.real * ratio, x.imaginary * ratio - x.real)
    return Complex(top / divisor, side / divisor)


def numbers(x: Matrix, dim: int) -> torch.Tensor:
    """0, 1, 2, … along `dim` -1 (i64 `[n]`) or -2 (i64 `[m, 1]`)."""
    count = torch.arange(x.shape[dim])
    return count if dim == -1 else count.unsqueeze(-1)


def identity(x: Matrix, rows: int, columns: int) -> Matrix:
    """A matrix with ones on its diagonal, of the batch and the dtype of `x`."""
    shape = (*x.shape[:-2], rows, columns)
    diagonal = torch.arange(rows).unsqueeze(-1) == torch.arange(columns)
    ones = diagonal.to(x.dtype).expand(shape).clone()
    return Complex(ones, torch.zeros_like(ones)) if isinstance(x, Complex) else ones


def with_batch(x: Matrix, batch: Any) -> Matrix:
    """`x` expanded to a batch."""
    return on_parts(lambda part: part.expand(*batch, *part.shape[-2:]).clone(), x)


def broadcast_batch(*matrices: Matrix) -> tuple:
    """The batch that all matrices are broadcast to."""
    return tuple(torch.broadcast_shapes(*(x.shape[:-2] for x in matrices)))


def is_empty(*matrices: Matrix) -> bool:
    """Whether a matrix has no elements."""
    return any(size == 0 for x in matrices for size in x.shape if isinstance(size, int))


def triangle(x: Matrix, lower: bool, diagonal: int = 0) -> Matrix:
    """`torch.tril` or `torch.triu`."""
    return on_parts(torch.tril if lower else torch.triu, x, diagonal)


# Above or below these exponents of two, squares come near the end of the range.
_EXPONENTS = {torch.float32: (-30, 40, 80), torch.float64: (-300, 300, 700)}


def scale_of(x: Matrix) -> torch.Tensor:
    """A power of two for each matrix (`[..., 1, 1]`), so that squares of the quotient are finite.

    It is 1 for most matrices; dividing by it adds no rounding error.
    """
    least_exponent, largest_exponent, shift = _EXPONENTS[x.dtype]
    size = largest_part(x).amax((-2, -1), keepdim=True)
    scale = torch.where(size > 2.0**largest_exponent, 2.0**shift, torch.ones_like(size))
    small = (size < 2.0**least_exponent) & (size > 0)
    return torch.where(small, 2.0**-shift, scale)
