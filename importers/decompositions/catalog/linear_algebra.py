"""Decompositions of linear algebra operators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.decompositions.assertions import check_errors
from importers.decompositions.decomposition import entries, of_overloads
from importers.decompositions.linear_algebra import (
    cholesky,
    eigenvalues,
    householder,
    indefinite,
    least_squares,
    lu,
    products,
    singular_values,
    triangular,
)

_LOOPS = {
    "linalg_lu_factor_ex": lu.lu_factor,
    "linalg_lu": lu.lu,
    "lu_unpack": lu.lu_unpack,
    "linalg_lu_solve": lu.lu_solve,
    "_linalg_solve_ex": lu.solve,
    "linalg_inv_ex": lu.inverse,
    "_linalg_det": lu.determinant,
    "_linalg_slogdet": lu.sign_and_logarithm,
    "linalg_solve_triangular": triangular.solve_triangular,
    "triangular_solve": triangular.triangular_solve,
    "linalg_cholesky_ex": cholesky.cholesky_ex,
    "cholesky": cholesky.cholesky,
    "cholesky_solve": cholesky.cholesky_solve,
    "cholesky_inverse": cholesky.cholesky_inverse,
    "geqrf": householder.geqrf,
    "linalg_qr": householder.qr,
    "linalg_householder_product": householder.householder_product,
    "ormqr": householder.ormqr,
    "_linalg_eigh": eigenvalues.eigh,
    "_linalg_svd": singular_values.svd,
    "linalg_ldl_factor_ex": indefinite.ldl_factor,
    "linalg_ldl_solve": indefinite.ldl_solve,
    "linalg_lstsq": least_squares.lstsq,
    "linalg_matrix_exp": products.matrix_exp,
    "linalg_pinv.atol_rtol_tensor": singular_values.pinv,
}


def _of_fixed_sizes(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps `function` to raise NotImplementedError if a matrix has a dynamic size.

    Batch dimensions may be dynamic.
    """

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        tensors = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        rank = tensors[0].dim()
        for x in tensors if rank > 1 else ():
            # For pivots and vectors, all dimensions but the last are batch dimensions.
            own = x.shape[-2:] if x.dim() >= rank else x.shape[-1:]
            if x.dim() > 0 and not all(isinstance(size, int) for size in own):
                raise NotImplementedError(
                    f"{name} needs matrices of static sizes; only batch dimensions may be dynamic"
                )
        return function(*args, **kwargs)

    return checked


def _composite(overload: torch._ops.OpOverload) -> Callable[..., Any]:
    """Returns PyTorch's own definition of an operator in terms of other operators."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return lambda *args, **kwargs: overload._op_dk(key, *args, **kwargs)


LINEAR_ALGEBRA = (
    *entries(
        "checked results of linear algebra",
        "torch",
        "the torch dialect has no _linalg_check_errors; an assertion ends the call instead",
        {"_linalg_check_errors.default": check_errors},
    ),
    *entries(
        "linear algebra in loops",
        "torch",
        "torch-mlir does not lower the operator; a loop over columns or rotations computes it",
        {
            name if "." in name else f"{name}.default": _of_fixed_sizes(name, function)
            for name, function in _LOOPS.items()
        },
    ),
    *entries(
        "linear algebra by its definition",
        "linalg",
        "torch-mlir does not decompose the operator, and lowers few of its forms",
        of_overloads(
            _composite, "linalg_slogdet.default", "linalg_norm.default", "linalg_norm.ord_str"
        ),
    ),
)
