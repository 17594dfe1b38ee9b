"""Allows LLVM to reassociate sums and products of reductions, as eager's own kernels do.

A sum along the innermost dimension is a chain of dependent additions. LLVM may split it into as
many partial sums as fill its vectors, which also makes the error smaller. Nothing else is
reassociated.
"""

from __future__ import annotations

from torch_mlir import ir


def reassociate(module: ir.Module) -> None:
    """Marks the additions and multiplications that accumulate a result of a linalg operation."""

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "linalg.generic" and "reduction" in str(
            operation.attributes["iterator_types"]
        ):
            _mark(operation)
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit)


def _mark(generic: ir.Operation) -> None:
    block = generic.regions[0].blocks[0]
    yielded = list(block.operations)[-1]
    outputs = list(block.arguments)[-len(yielded.operands) :]
    for output, value in zip(outputs, yielded.operands, strict=True):
        if isinstance(value.owner, ir.Block):
            continue
        last = value.owner.operation
        if last.name in ("arith.addf", "arith.mulf") and output in list(last.operands):
            last.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<reassoc>")
