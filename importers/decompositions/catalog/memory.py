"""Decompositions of operators about memory layout, which values in MLIR do not have."""

from __future__ import annotations

from importers.decompositions.decomposition import Decomposition
from importers.decompositions.memory import (
    as_strided_scatter,
    checked_at_capture,
    copy_in_order,
    empty_in_order,
    empty_permuted,
    new_empty_in_order,
    resize,
    resize_as,
    scalar_tensor,
)

MEMORY = (
    Decomposition(
        "empty tensor with strides",
        "aten::empty_strided.default",
        "linalg",
        "torch-mlir has no lowering; values in MLIR have no strides",
        empty_in_order,
    ),
    *(
        Decomposition(
            "empty tensor with strides",
            f"aten::{operator}.default",
            "linalg",
            "torch-mlir has no lowering; values in MLIR have no strides",
            function,
        )
        for operator, function in (
            ("new_empty_strided", new_empty_in_order),
            ("empty_permuted", empty_permuted),
        )
    ),
    *(
        Decomposition(
            "resize",
            f"aten::{function.__name__}.default",
            "linalg",
            "torch-mlir has no lowering; the elements keep their row-major order",
            function,
        )
        for function in (resize, resize_as)
    ),
    Decomposition(
        "elements at strides replaced",
        "aten::as_strided_scatter.default",
        "linalg",
        "torch-mlir has no lowering; a contiguous tensor is also a list of its elements in memory",
        as_strided_scatter,
    ),
    Decomposition(
        "copy with strides",
        "prims::copy_strided.default",
        "torch",
        "the torch dialect has no strides; PyTorch's decompositions end with this copy if their "
        "result has other strides than the operator's",
        copy_in_order,
    ),
    Decomposition(
        "number as a tensor",
        "prims::scalar_tensor.default",
        "torch",
        "the torch dialect has no prims operators; PyTorch's decomposition of xlogy uses this one",
        scalar_tensor,
    ),
    Decomposition(
        "assertion of dtype and layout",
        "aten::_assert_tensor_metadata.default",
        "linalg",
        "the capture has checked it already; torch-mlir checks again, after repairs changed dtypes",
        checked_at_capture,
    ),
)
