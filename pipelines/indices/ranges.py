"""Proves conditions on integers with MLIR's integer range analysis.

The scalar arithmetic that a condition depends on is copied to a separate function. Arguments of the
function represent unknown values. MLIR's `int-range-optimizations` then folds the conditions that
always hold. One value represents all elements of a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.indices.loops import counted_by, enclosing_generic, loop_sizes
from pipelines.indices.refinement import selection
from pipelines.indices.values import number, size_of
from pipelines.ir.contraction import indexing_maps
from pipelines.ir.generics import is_reduction
from pipelines.ir.lazy_dialects import arith, func
from pipelines.ir.values import constant_integer, producer, producer_named, terminator

_LARGEST = 2**62
# Operations whose results have elements of their first operand.
_MOVES = {
    "linalg.broadcast",
    "linalg.transpose",
    "tensor.cast",
    "tensor.collapse_shape",
    "tensor.expand_shape",
    "tensor.extract",
    "tensor.extract_slice",
    "tensor.reshape",
    "tensor.splat",
}
# Operations whose results have elements of all operands of the same element type.
_UNIONS = {"tensor.concat", "tensor.from_elements", "tensor.insert", "tensor.insert_slice"}


class Ranges:
    """A function for range analysis, with counterparts of a program's values.

    The counterpart of a tensor represents the element at one position. That of a `linalg.generic`
    represents one iteration, at that position. Operands with the identity map are read there. All
    other readers of a tensor get a copy with the same range, because they may read another element.
    """

    def __init__(self, context: ir.Context):
        self._module = ir.Module.create(ir.Location.unknown(context))
        with context, ir.Location.unknown(), ir.InsertionPoint(self._module.body):
            self._function = func.FuncOp("ranges", ([], []))
            self._block = self._function.add_entry_block()
        self._known: dict[ir.Value, ir.Value] = {}
        self._conditions: list[ir.Value] = []

    def add(self, values: Sequence[ir.Value], condition: Callable[..., ir.Value]) -> int:
        """Adds a condition and returns the index of its answer in `proved`.

        Args:
            values: the values that it depends on; a tensor represents any of its elements.
            condition: creates a value of type i1 from their counterparts, at the insertion point.
        """
        with self._function.context, ir.Location.unknown(), ir.InsertionPoint(self._block):
            self._conditions.append(condition(*map(self._counterpart, values)))
        return len(self._conditions) - 1

    def proved(self) -> list[bool]:
        """Returns for each condition whether it always holds. Call it only once."""
        context = self._function.context
        with context, ir.Location.unknown():
            with ir.InsertionPoint(self._block):
                end = func.ReturnOp(self._conditions)
            inputs = [argument.type for argument in self._block.arguments]
            results = [condition.type for condition in self._conditions]
            self._function.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(inputs, results)
            )
            passes = PassManager.parse("builtin.module(lower-affine,int-range-optimizations)")
            passes.run(self._module.operation)
        return [_is_true(condition) for condition in end.operands]

    def _counterpart(self, value: ir.Value) -> ir.Value:
        # Use an explicit stack: chains of values may be deeper than Python's recursion limit.
        stack = [value]
        while stack:
            current = stack[-1]
            missing = [
                needed
                for needed in (() if current in self._known else _needed(current))
                if needed not in self._known
            ]
            if missing:
                stack.extend(missing)
                continue
            if current not in self._known:
                self._known[current] = self._made(current)
            stack.pop()
        return self._known[value]

    def _made(self, value: ir.Value) -> ir.Value:
        needed = [self._known[each] for each in _needed(value)]
        type = _element_type(value)
        operation = producer(value)
        if operation is None:
            if _counting_loop(value) is not None:
                return self._below(needed[0])
            if needed:
                return needed[0] if _reads_own_position(value) else _copy(needed[0])
            return self._anything(type)
        name = operation.name
        if name == "arith.constant":
            return self._of_constant(operation.attributes["value"], type)
        if name == "linalg.index":
            sizes = loop_sizes(enclosing_generic(operation), counted_by(value))
            known = [size for size in sizes if isinstance(size, int)]
            return self._below(number(min(known, default=_LARGEST), type))
        if name in ("tensor.dim", "memref.dim"):
            axis = constant_integer(operation.operands[1])
            size = None if axis is None else size_of(operation.operands[0], axis)
            if isinstance(size, int):
                return number(size, type)
            return self._below(number(_LARGEST, type))
        if not needed:
            return self._anything(type)
        if name == "linalg.generic":
            inputs = len(operation.operands) - len(operation.results)
            own_map = indexing_maps(operation)[inputs + list(operation.results).index(value)]
            return needed[0] if _is_identity(own_map) else _copy(needed[0])
        if name == "linalg.fill":
            return needed[0]
        if name in _MOVES:
            return _copy(needed[0])
        if name in _UNIONS:
            union, *others = needed
            for other in others:
                either = self._anything(ir.IntegerType.get_signless(1))
                union = arith.SelectOp(either, union, other).result
            return union
        if name == "arith.select":
            return selection(*needed)
        clone = operation.clone()
        for index, operand in enumerate(needed):
            clone.operation.operands[index] = operand
        return clone.operation.results[list(operation.results).index(value)]

    def _anything(self, type: ir.Type) -> ir.Value:
        return self._block.add_argument(type, ir.Location.unknown())

    def _below(self, limit: ir.Value) -> ir.Value:
        """Creates an unknown number from 0 up to a limit, which is excluded."""
        last = arith.SubIOp(limit, number(1, limit.type)).result
        return arith.MinUIOp(self._anything(limit.type), last).result

    def _of_constant(self, attribute: ir.Attribute, type: ir.Type) -> ir.Value:
        if isinstance(attribute, (ir.IntegerAttr, ir.BoolAttr)):
            return arith.ConstantOp(type, attribute).result
        low_high = _extremes(attribute)
        if low_high is None:
            return self._anything(type)
        low, high = (number(each, type) for each in low_high)
        return arith.MaxSIOp(arith.MinSIOp(self._anything(type), high).result, low).result


def _is_true(condition: ir.Value) -> bool:
    operation = producer_named(condition, "arith.constant")
    return operation is not None and ir.BoolAttr(operation.attributes["value"]).value


def _copy(value: ir.Value) -> ir.Value:
    """Creates another value with the same range, which `selection` does not treat as equal."""
    return arith.MinSIOp(value, value).result


def _extremes(attribute: ir.Attribute) -> tuple[int, int] | None:
    """Returns the smallest and the largest element of a literal of integers, or None."""
    # Imported here, because the import takes 0.13 s.
    import numpy as np

    if isinstance(attribute, ir.DenseIntElementsAttr):
        if attribute.is_splat:
            each = ir.IntegerAttr(attribute.get_splat_value()).value
            return each, each
        elements = np.array(attribute)
    elif isinstance(attribute, ir.DenseResourceElementsAttr):
        try:
            elements = np.array(attribute)
        except (TypeError, ValueError, RuntimeError):
            return None
    else:
        return None
    if not elements.size or elements.dtype.kind != "i":
        return None
    return int(elements.min()), int(elements.max())


def _element_type(value: ir.Value) -> ir.Type:
    type = value.type
    return type.element_type if isinstance(type, ir.ShapedType) else type


def _is_integer(value: ir.Value) -> bool:
    type = _element_type(value)
    return isinstance(type, ir.IndexType) or (isinstance(type, ir.IntegerType) and type.is_signless)


def _needed(value: ir.Value) -> Sequence[ir.Value]:
    """Returns the values that determine the range of a value; none if its range is unknown."""
    if not _is_integer(value):
        return ()
    operation = producer(value)
    if operation is None:
        return _needed_by_argument(value)
    name, operands = operation.name, list(operation.operands)
    if name == "linalg.generic":
        if not isinstance(value.type, ir.RankedTensorType) or is_reduction(operation):
            return ()
        end = terminator(operation.regions[0].blocks[0])
        return (end.operands[list(operation.results).index(value)],)
    if name in ("linalg.fill", *_MOVES):
        tensors = isinstance(value.type, ir.RankedTensorType) or name == "tensor.extract"
        return operands[:1] if tensors else ()
    if name in _UNIONS:
        return [each for each in operands if _element_type(each) == _element_type(value)]
    if name.startswith(("arith.", "affine.")) and not operation.regions:
        scalar = not isinstance(value.type, ir.ShapedType)
        return operands if scalar and all(map(_is_integer, operands)) else ()
    return ()


def _needed_by_argument(value: ir.Value) -> Sequence[ir.Value]:
    loop = _counting_loop(value)
    if loop is not None:
        return (loop.operands[1],)
    owner = value.owner.owner.operation
    if owner.name != "linalg.generic":
        return ()
    position = ir.BlockArgument(value).arg_number
    is_result = position >= len(owner.operands) - len(owner.results)
    if is_result and is_reduction(owner):
        return ()
    operand = owner.operands[position]
    return (operand,) if isinstance(operand.type, ir.RankedTensorType) else ()


def _counting_loop(value: ir.Value) -> ir.Operation | None:
    """Returns the `scf.for` that counts this value; None if its start may be negative."""
    if producer(value) is not None:
        return None
    loop = value.owner.owner.operation
    if loop.name != "scf.for" or ir.BlockArgument(value).arg_number != 0:
        return None
    first = constant_integer(loop.operands[0])
    return loop if first is not None and first >= 0 else None


def _reads_own_position(argument: ir.Value) -> bool:
    """Returns whether an argument of a body is the element at the position of the result."""
    generic = argument.owner.owner.operation
    own_map = indexing_maps(generic)[ir.BlockArgument(argument).arg_number]
    return _is_identity(own_map)


def _is_identity(indexing: ir.AffineMap) -> bool:
    return indexing == ir.AffineMap.get_identity(indexing.n_dims, context=indexing.context)
