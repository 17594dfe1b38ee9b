"""Makes IREE store all results of sorts, and the slices that are sorted.

If a program uses the indices of a sort and not the values, as `argsort` does, IREE sorts the values
in memory on the stack. It then does not compile sorts of dynamic sizes or of more than 32 KiB. IREE
also does not compile a slice in the dispatch of its sort.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer
from pipelines.iree.barriers import barrier_before, behind_barrier
from pipelines.pipeline import Step

_RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape", "tensor.cast")


def keep_sorted_values(module: ir.Module) -> None:
    """Puts a barrier behind each unused result of `tm_tensor.sort`. Changes the IR in place.

    If an operand is a slice, puts a barrier before each operand of the sort.
    """
    with module.context:
        for sort in find_operations(module, lambda each: each.name == "tm_tensor.sort"):
            # A barrier before the slice alone is not enough: the indices are computed in the
            # dispatch of the sort.
            if any(map(_is_slice, sort.operands)):
                for index in range(len(sort.operands)):
                    barrier_before(sort, index)
            with ir.InsertionPoint.after(sort), sort.location:
                for result in sort.results:
                    if not list(result.uses):
                        behind_barrier(result)


def _is_slice(value: ir.Value) -> bool:
    """Returns whether a tensor is a slice, or a reshaped slice."""
    while (operation := producer(value)) is not None:
        if operation.name == "tensor.extract_slice":
            return True
        if operation.name not in _RESHAPES:
            return False
        value = operation.operands[0]
    return False


KEEP_SORTED_VALUES = Step(
    "iree-keep-sorted-values",
    "use all results of sorts: IREE sorts unused ones on the stack, which is small; it does not "
    "compile sorts of slices",
    keep_sorted_values,
)
