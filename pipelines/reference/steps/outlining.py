"""Moves each distinct linalg operation to a function of its own.

The time of LLVM's loop passes grows faster than the size of a function: a 6-layer BERT in one
function spends nine tenths of its compile time in IndVarSimplify. With a function per operation the
time is linear, and repeated layers are compiled once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_mlir import ir

from pipelines.ir.lazy_dialects import func
from pipelines.reference.analysis.aliasing import VIEWS, are_distinct
from pipelines.reference.steps.rows import ROWS

# Operations that do not write to their operands, including views.
_READS = ("memref.load", "memref.dim", "memref.extract_", *VIEWS)
# An attribute of all outlined functions.
OUTLINED = "unmess.outlined"
# An attribute of outlined functions in which no written argument overlaps another argument.
NO_ALIAS = "unmess.no_alias"


def outline(module: ir.Module) -> None:
    """Moves linalg operations on memrefs, and loops over scalars, to private functions.

    Calls replace them. Operations that differ only in their buffers share a function.
    """
    operations: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        is_linalg = operation.name.startswith("linalg.")
        if ROWS in operation.attributes or (
            not operation.results and (is_linalg or _loops_over_scalars(operation))
        ):
            operations.append(operation)
            return ir.WalkResult.SKIP
        return ir.WalkResult.ADVANCE

    with module.context, ir.Location.unknown():
        # Walk before the functions are created, so that the walk does not visit them.
        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
        functions = _Functions(module)
        for operation in operations:
            operands = operands_from_outside(operation)
            name = functions.of(operation, operands)
            with ir.InsertionPoint(operation), operation.location:
                func.CallOp([], name, operands)
            operation.erase()


@dataclass
class _Functions:
    """The names of the functions created so far, by their text."""

    module: ir.Module
    names: dict[str, str] = field(default_factory=dict)

    def of(self, operation: ir.Operation, operands: list[ir.Value]) -> str:
        """Returns the name of the function that applies `operation` to `operands`."""
        function = func.FuncOp(
            "outlined",
            ([value.type for value in operands], []),
            visibility="private",
            ip=ir.InsertionPoint(self.module.body),
        )
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            replacements = list(zip(operands, block.arguments, strict=True))
            copy = with_constants(operation, replacements)
            replace(copy, replacements)
            func.ReturnOp([])
        if are_distinct(operands, _written(operation)):
            function.attributes[NO_ALIAS] = ir.UnitAttr.get()
        text = function.operation.get_asm(enable_debug_info=False, use_local_scope=True)
        if text in self.names:
            function.operation.erase()
            return self.names[text]
        name = f"{operation.name.replace('.', '_')}_{len(self.names)}"
        function.attributes["sym_name"] = ir.StringAttr.get(name)
        function.attributes[OUTLINED] = ir.UnitAttr.get()
        self.names[text] = name
        return name


def is_outlined(function: ir.OpView) -> bool:
    """Returns whether a function was created by `outline` or `outline_tasks`."""
    return function.operation.name == "func.func" and OUTLINED in function.attributes


def _loops_over_scalars(operation: ir.Operation) -> bool:
    """Returns whether this is a loop without linalg operations, calls and allocations."""
    if operation.name not in ("scf.for", "scf.parallel"):
        return False
    found = False

    def visit(inner: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = found or inner.name.startswith(("linalg.", "func.", "memref.alloc", "memref.deal"))
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return not found


def _written(operation: ir.Operation) -> list[ir.Value]:
    """Returns the buffers that the operation, or one inside it, may write to."""
    written: list[ir.Value] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name.startswith("linalg.") and "operandSegmentSizes" in inner.attributes:
            written.extend(list(inner.operands)[inner.attributes["operandSegmentSizes"][0] :])
        elif not inner.name.startswith(_READS):
            written.extend(value for value in inner.operands if _is_buffer(value))
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return written


def _is_buffer(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType)


def operands_from_outside(operation: ir.Operation) -> list[ir.Value]:
    """Returns the values from outside that the operation and its regions use, except constants."""
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


def with_constants(
    operation: ir.Operation, replacements: list[tuple[ir.Value, ir.Value]]
) -> ir.Operation:
    """Clones the operation, and before it the constants from outside that it uses."""
    for value in _used_from_outside(operation):
        if _is_constant(value):
            replacements.append((value, value.owner.clone().operation.result))
    return operation.clone().operation


def replace(operation: ir.Operation, replacements: list[tuple[ir.Value, ir.Value]]) -> None:
    """Replaces old values with new ones in the operation and inside it."""

    def visit(inner: ir.Operation) -> ir.WalkResult:
        for index, value in enumerate(inner.operands):
            for old, new in replacements:
                if value == old:
                    inner.operands[index] = new
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
