"""One function per distinct linalg operation, so that compile time grows with what is distinct.

LLVM's loop passes take time that grows faster than the function they work on: a 6-layer BERT in one
function spends nine tenths of its compile time in IndVarSimplify. With a function per operation the
time is linear, and layers that repeat are compiled once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_mlir import ir
from torch_mlir.dialects import func


def outline(module: ir.Module) -> None:
    """Moves every linalg operation on memrefs to a private function, and calls it instead.

    Operations that are equal but for the buffers they work on share a function.
    """
    operations: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("linalg.") and not operation.results:
            operations.append(operation)
            return ir.WalkResult.SKIP
        return ir.WalkResult.ADVANCE

    with module.context, ir.Location.unknown():
        # Before the walk, so that the new functions are not part of it.
        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
        functions = _Functions(module)
        for operation in operations:
            operands = _operands_from_outside(operation)
            name = functions.of(operation, operands)
            with ir.InsertionPoint(operation), operation.location:
                func.CallOp([], name, operands)
            operation.erase()


@dataclass
class _Functions:
    """The functions made so far, by their text."""

    module: ir.Module
    names: dict[str, str] = field(default_factory=dict)

    def of(self, operation: ir.Operation, operands: list[ir.Value]) -> str:
        """The name of the function that does what `operation` does to `operands`."""
        function = func.FuncOp(
            "outlined",
            ([value.type for value in operands], []),
            visibility="private",
            ip=ir.InsertionPoint(self.module.body),
        )
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            replacements = list(zip(operands, block.arguments, strict=True))
            copy = _with_constants(operation, replacements)
            _replace(copy, replacements)
            func.ReturnOp([])
        text = function.operation.get_asm(enable_debug_info=False)
        if text in self.names:
            function.operation.erase()
            return self.names[text]
        name = f"{operation.name.replace('.', '_')}_{len(self.names)}"
        function.attributes["sym_name"] = ir.StringAttr.get(name)
        # The inliner would put it all back into one function.
        function.attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get("noinline")])
        self.names[text] = name
        return name


def _operands_from_outside(operation: ir.Operation) -> list[ir.Value]:
    """What the operation and its region use of the function around it, constants left out."""
    return [value for value in _used_from_outside(operation) if not _is_constant(value)]


def _used_from_outside(operation: ir.Operation) -> list[ir.Value]:
    own_blocks: list[ir.Block] = []
    used: list[ir.Value] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        own_blocks.extend(block for region in inner.regions for block in region)
        for value in inner.operands:
            block = (
                value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
            )
            if block not in own_blocks and value not in used:
                used.append(value)
        return ir.WalkResult.ADVANCE

    operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return used


def _is_constant(value: ir.Value) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.operation.name == "arith.constant"


def _with_constants(
    operation: ir.Operation, replacements: list[tuple[ir.Value, ir.Value]]
) -> ir.Operation:
    """Clones the operation, and before it the constants that it uses."""
    for value in _used_from_outside(operation):
        if _is_constant(value):
            replacements.append((value, value.owner.clone().operation.result))
    return operation.clone().operation


def _replace(operation: ir.Operation, replacements: list[tuple[ir.Value, ir.Value]]) -> None:
    def visit(inner: ir.Operation) -> ir.WalkResult:
        for index, value in enumerate(inner.operands):
            for old, new in replacements:
                if value == old:
                    inner.operands[index] = new
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
