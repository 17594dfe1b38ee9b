"""Operations on batches of real or complex matrices.

A matrix is a real tensor `[..., m, n]`, or a `Complex` of two. Loops hold the number of the current
row or column in a tensor, so parts are selected by masks, never by indices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from importers.decompositions.complex_pair import Complex

Matrix = Any  # torch.Tensor | Complex


def split(x: torch.Tensor) -> Matrix:
    """Converts a tensor to a `Matrix`."""
    return Complex(torch.real(x), torch.imag(x)) if x.is_complex() else x


def joined(x: Matrix) -> torch.Tensor:
    """Converts a `Matrix` to a tensor."""
    return torch.complex(x.real, x.imaginary) if isinstance(x, Complex) else x


def on_parts(
    function: Callable[..., torch.Tensor], x: Matrix, *args: Any, **options: Any
) -> Matrix:
    """Applies `function`, which is linear with real coefficients, to each part of `x`."""
    if isinstance(x, Complex):
        return x.map(function, *args, **options)
    return function(x, *args, **options)


def where(mask: torch.Tensor, x: Matrix, y: Any) -> Matrix:
    """Computes `torch.where`; `y` may be real, or a number."""
    if isinstance(x, Complex):
        other = y if isinstance(y, Complex) else Complex(y, 0.0)
        return Complex(
            torch.where(mask, x.real, other.real), torch.where(mask, x.imaginary, other.imaginary)
        )
    return torch.where(mask, x, y)


def picked(mask: torch.Tensor, x: Matrix, dim: int) -> Matrix:
    """Returns the one element along `dim` where the mask is true; `dim` stays with size 1."""
    zero = 0.0 if x.dtype.is_floating_point else 0
    return on_parts(lambda part: torch.where(mask, part, zero).sum(dim, keepdim=True), x)


def total(x: Matrix, dim: int) -> Matrix:
    """Returns the sum along `dim`, which stays with size 1."""
    return on_parts(torch.sum, x, dim, keepdim=True)


def real(x: Matrix) -> torch.Tensor:
    """Returns the real part."""
    return x.real if isinstance(x, Complex) else x


def imaginary(x: Matrix) -> torch.Tensor:
    """Returns the imaginary part."""
    return x.imaginary if isinstance(x, Complex) else torch.zeros_like(x)


def conjugate(x: Matrix) -> Matrix:
    """Returns the complex conjugate."""
    return Complex(x.real, -x.imaginary) if isinstance(x, Complex) else x


def transpose(x: Matrix) -> Matrix:
    """Exchanges rows and columns."""
    return on_parts(torch.transpose, x, -2, -1)


def adjoint(x: Matrix) -> Matrix:
    """Returns the conjugate transpose."""
    return conjugate(transpose(x))


def squares(x: Matrix) -> torch.Tensor:
    """Returns the squared magnitude of each element."""
    return x.real * x.real + x.imaginary * x.imaginary if isinstance(x, Complex) else x * x


def sum_of_parts(x: Matrix) -> torch.Tensor:
    """Returns |real| + |imaginary|, by which LAPACK compares pivots."""
    return x.real.abs() + x.imaginary.abs() if isinstance(x, Complex) else x.abs()


def largest_part(x: Matrix) -> torch.Tensor:
    """Returns the larger of |real| and |imaginary|."""
    return torch.maximum(x.real.abs(), x.imaginary.abs()) if isinstance(x, Complex) else x.abs()


def magnitude(x: Matrix) -> torch.Tensor:
    """Returns the absolute value of each element, without intermediate overflow."""
    if not isinstance(x, Complex):
        return x.abs()
    large = largest_part(x)
    scale = torch.where(large == 0, 1.0, large)
    return large * torch.sqrt(squares(divided(x, scale)))


def divided(x: Matrix, y: Matrix) -> Matrix:
    """Divides elementwise."""
    if not isinstance(y, Complex):
        return on_parts(torch.div, x, y)
    # Divide by the larger part of the divisor, so that no square overflows or underflows.
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
    """Returns 0, 1, 2, … along `dim` -1 (i64 `[n]`) or -2 (i64 `[m, 1]`)."""
    count = torch.arange(x.shape[dim])
    return count if dim == -1 else count.unsqueeze(-1)


def identity(x: Matrix, rows: int, columns: int) -> Matrix:
    """Returns a matrix with ones on its diagonal, with the batch and dtype of `x`."""
    shape = (*x.shape[:-2], rows, columns)
    diagonal = torch.arange(rows).unsqueeze(-1) == torch.arange(columns)
    ones = diagonal.to(x.dtype).expand(shape).clone()
    return Complex(ones, torch.zeros_like(ones)) if isinstance(x, Complex) else ones


def with_batch(x: Matrix, batch: Any) -> Matrix:
    """Returns a copy of `x` that is expanded to a batch."""
    return on_parts(lambda part: part.expand(*batch, *part.shape[-2:]).clone(), x)


def broadcast_batch(*matrices: Matrix) -> tuple:
    """Returns the batch that all matrices are broadcast to."""
    return tuple(torch.broadcast_shapes(*(x.shape[:-2] for x in matrices)))


def is_empty(*matrices: Matrix) -> bool:
    """Returns whether any matrix has no elements."""
    return any(size == 0 for x in matrices for size in x.shape if isinstance(size, int))


def triangle(x: Matrix, lower: bool, diagonal: int = 0) -> Matrix:
    """Computes `torch.tril` or `torch.triu`."""
    return on_parts(torch.tril if lower else torch.triu, x, diagonal)


# Below the first or above the second of these exponents of two, squares come near the end of the
# range. The third is the exponent of the scale.
_EXPONENTS = {torch.float32: (-30, 40, 80), torch.float64: (-300, 300, 700)}


def scale_of(x: Matrix) -> torch.Tensor:
    """Returns a power of two for each matrix (`[..., 1, 1]`) to divide it by.

    Squares of the quotient are finite. The scale is 1 for most matrices. The division adds no
    rounding error.
    """
    least_exponent, largest_exponent, shift = _EXPONENTS[x.dtype]
    size = largest_part(x).amax((-2, -1), keepdim=True)
    scale = torch.where(size > 2.0**largest_exponent, 2.0**shift, torch.ones_like(size))
    small = (size < 2.0**least_exponent) & (size > 0)
    return torch.where(small, 2.0**-shift, scale)
