"""Makes IREE store all results of sorts, and the slices that are sorted.

If a program uses the indices of a sort and not the values, as `argsort` does, IREE sorts the values
in memory on the stack. It then does not compile sorts of dynamic sizes or of more than 32 KiB. IREE
also does not compile a slice in the dispatch of its sort.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.iree.barriers import behind_barrier, copy_before
from pipelines.iree.updates import is_slice
from pipelines.pipeline import Step


def keep_sorted_values(module: ir.Module) -> None:
    """Puts a barrier behind each unused result of `tm_tensor.sort`. Changes the IR in place.

    If an operand is a slice, copies each operand of the sort.
    """
    with module.context:
        for sort in find_operations(module, lambda each: each.name == "tm_tensor.sort"):
            for index, operand in enumerate(sort.operands):
                if is_slice(operand):
                    copy_before(sort, index)
            with ir.InsertionPoint.after(sort), sort.location:
                for result in sort.results:
                    if not list(result.uses):
                        behind_barrier(result)


KEEP_SORTED_VALUES = Step(
    "iree-keep-sorted-values",
    "use all results of sorts: IREE sorts unused ones on the stack, which is small; it does not "
    "compile sorts of slices",
    keep_sorted_values,
)
