"""Decompositions of copies of views, and of tensors with a view replaced."""

import torch

from importers.decompositions.bits import view_dtype
from importers.decompositions.decomposition import entries
from importers.decompositions.memory import copied, diagonal_scatter, narrow_copy, split_with_sizes

_aten = torch.ops.aten
_VIEWS = {
    "_reshape_copy.default": _aten.reshape.default,
    "alias_copy.default": _aten.alias.default,
    "as_strided_copy.default": _aten.as_strided.default,
    "detach_copy.default": _aten.detach.default,
    "diagonal_copy.default": _aten.diagonal.default,
    "expand_copy.default": _aten.expand.default,
    "permute_copy.default": _aten.permute.default,
    "select_copy.int": _aten.select.int,
    "slice_copy.Tensor": _aten.slice.Tensor,
    "split_copy.Tensor": _aten.split.Tensor,
    "split_with_sizes_copy.default": _aten.split_with_sizes.default,
    "squeeze_copy.default": _aten.squeeze.default,
    "squeeze_copy.dim": _aten.squeeze.dim,
    "squeeze_copy.dims": _aten.squeeze.dims,
    "t_copy.default": _aten.t.default,
    "transpose_copy.int": _aten.transpose.int,
    "unbind_copy.int": _aten.unbind.int,
    "unfold_copy.default": _aten.unfold.default,
    "unsqueeze_copy.default": _aten.unsqueeze.default,
    "view_as_complex_copy.default": _aten.view_as_complex.default,
    "view_as_real_copy.default": _aten.view_as_real.default,
    "view_copy.default": _aten.view.default,
    "view_copy.dtype": _aten.view.dtype,
}

VIEWS = (
    *entries(
        "bits as another dtype",
        "linalg",
        "torch-mlir lowers views as a dtype of the same width only",
        {"view.dtype": view_dtype},
    ),
    *entries(
        "split into sizes that depend on data",
        "linalg",
        "torch-mlir lowers constant sizes only",
        {"split_with_sizes.default": split_with_sizes},
    ),
    *entries(
        "copy of a view",
        "linalg",
        "torch-mlir lowers few of them; in MLIR, a copy of a view is the same value as the view",
        {operator: copied(view) for operator, view in _VIEWS.items()},
    ),
    *entries(
        "copy of a view",
        "torch",
        "torch-mlir has no lowering; in MLIR, a copy of a view is the same value as the view",
        {"narrow_copy.default": narrow_copy},
    ),
    *entries(
        "diagonal_scatter",
        "linalg",
        "torch-mlir has no lowering; PyTorch's decomposition writes in place",
        {"diagonal_scatter.default": diagonal_scatter},
    ),
)
