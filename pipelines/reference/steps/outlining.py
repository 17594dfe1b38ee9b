"""Moves each distinct linalg operation to a function of its own.

The time of LLVM's loop passes grows faster than the size of a function: a 6-layer BERT in one
function spends nine tenths of its compile time in IndVarSimplify. With a function per operation the
time is linear, and repeated layers are compiled once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch_mlir import ir

from pipelines.ir.lazy_dialects import func
from pipelines.ir.modules import find_operations, replace_operands
from pipelines.ir.values import block_of, producer_named
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
    with module.context, ir.Location.unknown():
        functions = _Functions(module)
        for operation in find_operations(module, _is_outlined, outermost=True):
            operands = operands_from_outside(operation)
            name = functions.of(operation, operands)
            with ir.InsertionPoint(operation), operation.location:
                func.CallOp([], name, operands)
            operation.erase()


def _is_outlined(operation: ir.Operation) -> bool:
    """Returns whether an operation becomes a function of its own."""
    if ROWS in operation.attributes:
        return True
    is_linalg = operation.name.startswith("linalg.")
    return not operation.results and (is_linalg or _loops_over_scalars(operation))


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
            replacements = dict(zip(operands, block.arguments, strict=True))
            copied_with_constants(operation, replacements)
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
    others = ("linalg.", "func.", "memref.alloc", "memref.deal")
    return not find_operations(operation, lambda inner: inner.name.startswith(others))


def _written(operation: ir.Operation) -> list[ir.Value]:
    """Returns the buffers that the operation, or one inside it, may write to."""
    written: list[ir.Value] = []
    for inner in find_operations(operation, lambda each: not each.name.startswith(_READS)):
        if inner.name.startswith("linalg.") and "operandSegmentSizes" in inner.attributes:
            written.extend(list(inner.operands)[inner.attributes["operandSegmentSizes"][0] :])
        else:
            written.extend(value for value in inner.operands if _is_buffer(value))
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
            if block_of(value) not in own_blocks and value not in used:
                used.append(value)
        return ir.WalkResult.ADVANCE

    operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return used


def _is_constant(value: ir.Value) -> bool:
    return producer_named(value, "arith.constant") is not None


def copied_with_constants(
    operation: ir.Operation, replacements: Mapping[ir.Value, ir.Value]
) -> ir.Operation:
    """Clones the operation, and before it the constants from outside that it uses.

    Args:
        replacements: other values that the copy uses in place of some.
    """
    constants = {
        value: value.owner.clone().operation.result
        for value in _used_from_outside(operation)
        if _is_constant(value)
    }
    copy = operation.clone().operation
    replace_operands(copy, {**constants, **replacements})
    return copy
