"""Errors of linear algebra operators that return no info, unlike their forms with `_ex`."""

from __future__ import annotations

import torch

from importers.decompositions.assertions import require

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
