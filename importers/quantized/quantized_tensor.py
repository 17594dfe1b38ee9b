"""The base class of stand-ins for quantized tensors, with the methods that move elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import torch

from unmess.core.errors.error import Error


class QuantizedTensor(ABC):
    """A stand-in for a quint8 tensor while a model is captured.

    Attributes:
        elements: one element for each of the quantized tensor.
        scale, zero_point: as of a quantized tensor.
    """

    def __init__(self, elements: torch.Tensor, scale: float, zero_point: int):
        self.elements = elements
        self.scale = scale
        self.zero_point = zero_point

    @abstractmethod
    def dequantize(self) -> torch.Tensor:
        """See `torch.Tensor.dequantize`."""

    @property
    def shape(self) -> torch.Size:
        """See `torch.Tensor.shape`."""
        return self.elements.shape

    def like(self, elements: torch.Tensor) -> Self:
        """Returns other elements with the same scale and zero point."""
        return type(self)(elements, self.scale, self.zero_point)

    def size(self, *axis: int) -> Any:
        """See `torch.Tensor.size`."""
        return self.elements.size(*axis)

    def dim(self) -> int:
        """See `torch.Tensor.dim`."""
        return self.elements.dim()

    def view(self, *shape: int) -> Self:
        """See `torch.Tensor.view`."""
        return self.like(self.elements.view(*shape))

    def reshape(self, *shape: int) -> Self:
        """See `torch.Tensor.reshape`."""
        return self.like(self.elements.reshape(*shape))

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        """See `torch.Tensor.flatten`."""
        return self.like(self.elements.flatten(start_dim, end_dim))

    def permute(self, *dims: int) -> Self:
        """See `torch.Tensor.permute`."""
        return self.like(self.elements.permute(*dims))

    def transpose(self, dim0: int, dim1: int) -> Self:
        """See `torch.Tensor.transpose`."""
        return self.like(self.elements.transpose(dim0, dim1))

    def contiguous(self) -> Self:
        """See `torch.Tensor.contiguous`."""
        return self.like(self.elements.contiguous())

    def chunk(self, count: int, dim: int = 0) -> tuple[Self, ...]:
        """See `torch.Tensor.chunk`."""
        return tuple(self.like(part) for part in self.elements.chunk(count, dim))

    def __getattr__(self, name: str) -> Any:
        """Refuses other methods of tensors in one line."""
        if name.startswith("_") or name == "elements":
            raise AttributeError(name)
        raise unsupported(f"Tensor.{name}")


def unsupported(what: str) -> Error:
    """Returns the error for a quantized layer or function without an implementation."""
    return Error(
        "capture",
        f"there is no integer implementation of {what} for quantized tensors",
        hint="dequantize before it, or keep that part of the model in floating point",
    )
