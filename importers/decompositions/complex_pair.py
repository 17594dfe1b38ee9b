"""Complex tensors as pairs of real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

# The dtype of the parts of a complex dtype.
REAL = {
    torch.complex32: torch.float16,
    torch.complex64: torch.float32,
    torch.complex128: torch.float64,
}


@dataclass(frozen=True)
class Complex:
    """A complex tensor as two real ones of the same shape and dtype.

    The other operand of a sum, difference or product is a `Complex` or a real tensor.
    """

    real: torch.Tensor
    imaginary: torch.Tensor

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of both parts."""
        return self.real.dtype

    @property
    def shape(self) -> torch.Size:
        """The shape of both parts."""
        return self.real.shape

    def map(self, function: Callable[..., torch.Tensor], *args, **kwargs) -> Complex:
        """Applies `function` to both parts."""
        return Complex(
            function(self.real, *args, **kwargs), function(self.imaginary, *args, **kwargs)
        )

    def __add__(self, other: Complex | torch.Tensor) -> Complex:
        if isinstance(other, Complex):
            return Complex(self.real + other.real, self.imaginary + other.imaginary)
        return Complex(self.real + other, self.imaginary + torch.zeros_like(other))

    def __neg__(self) -> Complex:
        return Complex(-self.real, -self.imaginary)

    def __sub__(self, other: Complex | torch.Tensor) -> Complex:
        return self + -other

    def __rsub__(self, other: torch.Tensor) -> Complex:
        return -self + other

    def __mul__(self, other: Complex | torch.Tensor) -> Complex:
        if isinstance(other, Complex):
            return Complex(
                self.real * other.real - self.imaginary * other.imaginary,
                self.real * other.imaginary + self.imaginary * other.real,
            )
        return Complex(self.real * other, self.imaginary * other)

    __rmul__ = __mul__

    def __matmul__(self, other: Complex) -> Complex:
        return Complex(
            self.real @ other.real - self.imaginary @ other.imaginary,
            self.real @ other.imaginary + self.imaginary @ other.real,
        )
