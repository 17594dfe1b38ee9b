"""Rewrites the control flow of a program, so that IREE computes it correctly.

IREE frees tensors of dynamic size too early if several loops start with them. The results are then
wrong, without an error (related: iree-org/iree pull request 24841). IREE also fails to legalize
most loops that carry a condition read from a tensor. With branches instead of `scf` loops, the
programs compile and the results are right.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.ir.lazy_dialects import func
from pipelines.ir.modules import find_operations
from pipelines.iree.branch_numbers import widen_numbers
from pipelines.iree.updates import is_on_host, keep_loop_values

_LOOPS = ("scf.for", "scf.while")
_CONTROL_FLOW = (*_LOOPS, "scf.if", "scf.index_switch", "scf.execute_region")


def rewrite_loops(function: func.FuncOp) -> None:
    """Rewrites a function's control flow in place.

    All numbers that it passes get 64 bits (`branch_numbers.py`), and tensors that are still needed
    are not updated in place (`updates.py`).

    Branches replace the control flow if IREE does not support a loop: one with a dynamic size or a
    boolean state, or one that passes on fewer values than it carries. With further control flow
    inside other operations, such as the bodies of `linalg.generic`, the function keeps its loops:
    the pass would also rewrite that, which is not possible there.
    """
    found = find_operations(function, lambda each: each.name in _CONTROL_FLOW)
    on_host = [each for each in found if is_on_host(each)]
    if len(on_host) == len(found) and any(map(is_unsupported, found)):
        PassManager.parse("func.func(convert-scf-to-cf)").run(function.operation)
        on_host = []
    widen_numbers(function, on_host)
    keep_loop_values(function)


def is_unsupported(operation: ir.Operation) -> bool:
    """Returns whether an operation is a loop that IREE does not support."""
    if operation.name not in _LOOPS:
        return False
    if operation.name == "scf.while" and len(operation.results) < len(operation.operands):
        return True
    return any(_is_dynamic(value.type) or _is_boolean(value.type) for value in operation.operands)


def _is_dynamic(kind: ir.Type) -> bool:
    return isinstance(kind, ir.ShapedType) and not kind.has_static_shape


def _is_boolean(kind: ir.Type) -> bool:
    return isinstance(kind, ir.IntegerType) and kind.width == 1
