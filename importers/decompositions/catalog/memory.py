"""Decompositions of operators about memory layout, which values in MLIR do not have."""

from importers.decompositions.decomposition import entries
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
    *entries(
        "empty tensor with strides",
        "linalg",
        "torch-mlir has no lowering; values in MLIR have no strides",
        {
            "empty_strided.default": empty_in_order,
            "new_empty_strided.default": new_empty_in_order,
            "empty_permuted.default": empty_permuted,
        },
    ),
    *entries(
        "resize",
        "linalg",
        "torch-mlir has no lowering; the elements keep their row-major order",
        {"resize.default": resize, "resize_as.default": resize_as},
    ),
    *entries(
        "elements at strides replaced",
        "linalg",
        "torch-mlir has no lowering; a contiguous tensor is also a list of its elements in memory",
        {"as_strided_scatter.default": as_strided_scatter},
    ),
    *entries(
        "copy with strides",
        "torch",
        "the torch dialect has no strides; PyTorch's decompositions end with this copy if their "
        "result has other strides than the operator's",
        {"prims::copy_strided.default": copy_in_order},
    ),
    *entries(
        "number as a tensor",
        "torch",
        "the torch dialect has no prims operators; PyTorch's decomposition of xlogy uses this one",
        {"prims::scalar_tensor.default": scalar_tensor},
    ),
    *entries(
        "assertion of dtype and layout",
        "linalg",
        "the capture has checked it already; torch-mlir checks again, after repairs changed dtypes",
        {"_assert_tensor_metadata.default": checked_at_capture},
    ),
)
