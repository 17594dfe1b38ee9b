"""Linear algebra operators, computed by loops over columns, or by their definition."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

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
from importers.decompositions.overloads import takes_overload

_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd

# By operator.
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
    "linalg_pinv": singular_values.pinv,
}


@takes_overload
def in_loops(overload: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Computes an operator by a loop over columns or rotations. Batch sizes may be dynamic.

    Returns:
        The results. If a matrix has a dynamic size, a composite operator is computed by
        PyTorch's definition; any other call is kept (NotImplemented). A kept call fails at the
        import; with a fallback, it runs in eager PyTorch.
    """
    tensors = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    rank = tensors[0].dim()
    for x in tensors if rank > 1 else ():
        # For pivots and vectors, all dimensions but the last are batch dimensions.
        own = x.shape[-2:] if x.dim() >= rank else x.shape[-1:]
        if x.dim() > 0 and not all(isinstance(size, int) for size in own):
            is_composite = overload.has_kernel_for_dispatch_key(_COMPOSITE)
            return by_definition(overload, *args, **kwargs) if is_composite else NotImplemented
    return _LOOPS[overload.overloadpacket.__name__](*args, **kwargs)


@takes_overload
def by_definition(overload: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Computes an operator by PyTorch's own definition in terms of other operators."""
    return overload._op_dk(_COMPOSITE, *args, **kwargs)
