"""Keeps all results of sorts for IREE.

If a program uses the indices of a sort and not the values, as `argsort` does, IREE sorts the values
in memory on the stack. Then it does not compile sorts of dynamic sizes or of more than 32 KiB.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations
from pipelines.pipeline import Step


def keep_sorted_values(module: ir.Module) -> None:
    """Uses each unused result of `tm_tensor.sort` in a barrier. Changes the IR in place."""
    with module.context:
        for sort in find_operations(module, lambda each: each.name == "tm_tensor.sort"):
            with ir.InsertionPoint.after(sort), sort.location:
                for result in sort.results:
                    if not list(result.uses):
                        build_op("util.optimization_barrier", result.type, result)


KEEP_SORTED_VALUES = Step(
    "iree-keep-sorted-values",
    "use all results of sorts: IREE sorts unused ones on the stack, which is small",
    keep_sorted_values,
)
