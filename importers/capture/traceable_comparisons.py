"""Replaces operators that read values during tracing by operators that can be traced.

`torch.equal` returns a Python bool, for which a fake tensor has no value. `torch.cov` also reads
values. The replacements return a value that the program computes. A model runs under
`TraceableComparisons` only after a capture without it has failed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from importers.decompositions.assertions import require


class TraceableComparisons(TorchFunctionMode):
    """Replaces calls of `torch.equal` and similar operators inside a `with` block."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Called for each function on tensors; see PyTorch's `TorchFunctionMode`."""
        return _REPLACED.get(func, func)(*args, **(kwargs or {}))


def equal(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Returns True if shapes and all elements are equal: a bool, or a symbolic one."""
    if x.shape != y.shape:
        return False
    return torch.eq(x, y).all().item()


def allclose(x: torch.Tensor, y: torch.Tensor, *args: Any, **options: Any) -> Any:
    """Returns True if all elements are close, as in `torch.isclose`."""
    return torch.isclose(x, y, *args, **options).all().item()


def cov(
    x: torch.Tensor,
    *,
    correction: int = 1,
    fweights: torch.Tensor | None = None,
    aweights: torch.Tensor | None = None,
) -> torch.Tensor:
    """Returns the covariance matrix of the rows of `x`, like `torch.cov`."""
    rows = x.reshape(1, -1) if x.dim() < 2 else x
    weights = [w for w in (fweights, aweights) if w is not None]
    for weight in weights:
        require(torch.ge(weight, 0), "cov has a negative weight")
    if not weights:
        total, weighted = rows.shape[1], rows
        norm = max(total - correction, 0)
    else:
        weight = weights[0] if len(weights) == 1 else weights[0] * weights[1]
        total, weighted = weight.sum(), rows * weight
        require(torch.ne(total, 0), "cov has weights whose sum is zero")
        norm = total - correction
        if aweights is not None and correction != 0:
            norm = total - correction * (weight * aweights).sum() / total
        norm = norm.clamp(min=0)
    mean = weighted.sum(1) / total
    rows = rows - mean.unsqueeze(1)
    weighted = rows * weight if weights else rows
    product = torch.mm(rows, weighted.t().conj())
    return torch.true_divide(product, norm).squeeze()


def corrcoef(x: torch.Tensor) -> torch.Tensor:
    """Returns the correlation matrix of the rows of `x`, like `torch.corrcoef`."""
    matrix = cov(x)
    if matrix.dim() == 0:
        return matrix / matrix
    variance = matrix.diagonal()
    deviation = torch.sqrt(variance.real if variance.is_complex() else variance)
    matrix = matrix / deviation.reshape(-1, 1) / deviation.reshape(1, -1)
    if matrix.is_complex():
        return torch.complex(matrix.real.clamp(-1, 1), matrix.imag.clamp(-1, 1))
    return matrix.clamp(-1, 1)


_REPLACED: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.equal: equal,
    torch.Tensor.equal: equal,
    torch.allclose: allclose,
    torch.Tensor.allclose: allclose,
    torch.cov: cov,
    torch.Tensor.cov: cov,
    torch.corrcoef: corrcoef,
    torch.Tensor.corrcoef: corrcoef,
}
