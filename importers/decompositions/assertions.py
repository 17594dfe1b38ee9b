"""Run-time checks of values that eager rejects but plain operators accept."""

from __future__ import annotations

import math
from typing import Any

import torch

from unmess.core.errors.check import VALUE_PREFIX


def require(condition: torch.Tensor, message: str) -> None:
    """Inserts a check that ends the call with an error unless all of `condition` is true."""
    torch.ops.aten._assert_async.msg(condition.all(), VALUE_PREFIX + message)


def require_probabilities(x: torch.Tensor, *_: Any, **__: Any) -> Any:
    """Checks that all elements are from 0 to 1 and not NaN, and keeps the call."""
    require(torch.logical_and(torch.ge(x, 0), torch.le(x, 1)), "a probability is not from 0 to 1")
    return NotImplemented


def require_indices_in_plane(
    x: torch.Tensor, places: torch.Tensor, size: list[int], *_: Any
) -> Any:
    """Checks that all indices are inside a plane of `size`, and keeps the call."""
    inside = torch.logical_and(torch.ge(places, 0), torch.lt(places, math.prod(size)))
    require(inside, "max_unpool has an index outside of its output")
    return NotImplemented


def require_category_weights(weights: torch.Tensor) -> None:
    """Checks that weights are finite and not negative, and that each row has a positive one."""
    # NaN and infinity are not less than infinity.
    valid = torch.logical_and(torch.ge(weights, 0), torch.lt(weights, torch.inf))
    require(valid, "multinomial has a weight that is negative, infinite or NaN")
    require(torch.gt(weights.sum(-1), 0), "multinomial has weights that are all zero")


_CAUSES = {
    "linalg.cholesky": "the matrix is not positive definite",
    "cholesky": "the matrix is not positive definite",
    "linalg.eigh": "the algorithm does not converge",
    "linalg.svd": "the algorithm does not converge",
}


def check_errors(info: torch.Tensor, api_name: str, *, is_matrix: bool) -> None:
    """Computes `_linalg_check_errors`.

    It ends the call with an error unless the info is zero for each matrix of the batch.
    """
    cause = _CAUSES.get(api_name, "the matrix is singular")
    require(torch.eq(info, 0), f"{api_name}: {cause if is_matrix else f'in the batch, {cause}'}")
