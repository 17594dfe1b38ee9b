"""Lowerings of matrix operators."""

from __future__ import annotations

import torch

from importers.onnx.node import Node
from importers.onnx.operators.unsigned import in_wider
from importers.onnx.registry import operator

Tensor = torch.Tensor


@operator("MatMul")
def mat_mul(_node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Lowers `MatMul`, with NumPy's rules for batches."""
    return in_wider(torch.matmul)(a, b)


@operator("Gemm")
def gemm(node: Node, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    """Lowers `Gemm`: alpha A B + beta C, where A and B may be transposed."""
    a = a.t() if node.get("transA", 0) else a
    b = b.t() if node.get("transB", 0) else b
    product = torch.matmul(a, b)
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    if alpha != 1:
        product = (alpha * product).to(a.dtype)
    if c is None or beta == 0:
        return product
    return product + (c if beta == 1 else (beta * c).to(a.dtype))


@operator("Einsum")
def einsum(node: Node, *xs: Tensor) -> Tensor:
    """Lowers `Einsum`."""
    return torch.einsum(node.get("equation").replace(" ", ""), *xs)


@operator("Det")
def det(_node: Node, x: Tensor) -> Tensor:
    """Lowers `Det`, for batches of matrices."""
    return torch.linalg.det(x)


def unfolded_zero_point(zero: Tensor | None, rank: int, axis: int) -> Tensor | int:
    """Reshapes a zero point, per tensor or per element of an axis, so that it broadcasts."""
    if zero is None:
        return 0
    zero = zero.to(torch.int32)
    if zero.dim() != 1 or zero.shape[0] == 1:
        return zero.reshape(()) if zero.numel() == 1 else zero
    return zero.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


@operator("MatMulInteger")
def mat_mul_integer(
    _node: Node, a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None
) -> Tensor:
    """Lowers `MatMulInteger`: multiplies 8-bit integers, to int32."""
    a = a.to(torch.int32) - unfolded_zero_point(a_zero, a.dim(), -2)
    b = b.to(torch.int32) - unfolded_zero_point(b_zero, b.dim(), -1)
    return torch.matmul(a, b)
