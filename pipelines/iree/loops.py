"""Lowers the loops of a program to branches, for IREE.

IREE frees tensors of dynamic size too early if several loops, or several values of one loop, start
with them. The results are then wrong, without an error (related: iree-org/iree pull request 24841).
With branches instead of `scf` loops, the results are right.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import func
from torch_mlir.passmanager import PassManager

_LOOPS = ("scf.for", "scf.while")


def lower_loops(function: func.FuncOp) -> None:
    """Replaces a function's control flow by branches in place, if a loop has a dynamic size.

    A function with further control flow inside other operations, such as the bodies of
    `linalg.generic`, stays as it is: the pass would also rewrite that, which is not possible there.
    """
    has_loop = inside_others = False

    def visit(operation: ir.Operation) -> ir.WalkResult:
        nonlocal has_loop, inside_others
        if operation.name.startswith("scf."):
            on_host = _is_on_host(operation)
            is_loop = operation.name in _LOOPS and _has_dynamic_size(operation)
            has_loop = has_loop or (on_host and is_loop)
            inside_others = inside_others or not on_host
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    if has_loop and not inside_others:
        PassManager.parse("func.func(convert-scf-to-cf)").run(function.operation)


def _has_dynamic_size(loop: ir.Operation) -> bool:
    types = [value.type for value in loop.operands]
    return any(isinstance(t, ir.ShapedType) and not t.has_static_shape for t in types)


def _is_on_host(operation: ir.Operation) -> bool:
    parent = operation.parent.operation
    while parent.name.startswith("scf."):
        parent = parent.parent.operation
    return parent.name == "func.func"
