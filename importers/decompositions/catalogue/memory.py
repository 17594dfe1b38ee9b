"""Decompositions of operators about memory layout, which values in MLIR do not have."""

from __future__ import annotations

from importers.decompositions.decomposition import Decomposition
from importers.decompositions.memory import (
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
        "there is no lowering, and values have no strides",
        empty_in_order,
    ),
    *(
        Decomposition(
            "empty tensor with strides",
            f"aten::{operator}.default",
            "linalg",
            "there is no lowering, and values have no strides",
            function,
        )
        for operator, function in (
            ("new_empty_strided", new_empty_in_order),
            ("empty_permuted", empty_permuted),
        )
    ),
    *(
        Decomposition(
            "other size of a tensor",
            f"aten::{function.__name__}.default",
            "linalg",
            "there is no lowering; the elements stay in their order",
            function,
        )
        for function in (resize, resize_as)
    ),
    Decomposition(
        "copy with strides",
        "prims::copy_strided.default",
        "torch",
        "the torch dialect has no strides; PyTorch's decompositions end with it where a result of "
        "theirs lies in memory in another way than the operator's",
        copy_in_order,
    ),
    Decomposition(
        "number as a tensor",
        "prims::scalar_tensor.default",
        "torch",
        "the torch dialect has no operators of prims; PyTorch's xlogy has it",
        scalar_tensor,
    ),
    Decomposition(
        "assertion about a type",
        "aten::_assert_tensor_metadata.default",
        "linalg",
        "the capture has checked it; the lowering does again, on types as they are after repairs",
        checked_at_capture,
    ),
)
