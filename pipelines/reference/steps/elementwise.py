"""Rewrites elementwise operations with vectors along the innermost dimension.

LLVM's vectorizer computes the elements behind the last whole vector one by one. With AVX-512, a row
of 28 elements has twelve of them, and each takes as long as a vector. Here they are one vector with
a mask, or a few narrower ones. Values that are the same for a whole row, or a channel, are computed
outside of its loop.

    for outer dimensions:
        load and compute what depends only on these
        for vector of columns:
            out[columns] = body(inputs[columns])

An `scf.if` in the body, for rare arguments, becomes a branch that is taken if at least one element
of the vector needs it.
"""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.contraction import indexing_maps, loop_sizes
from pipelines.ir.lazy_dialects import arith, memref, scf
from pipelines.ir.modules import build_op, find_operations, replace_operands
from pipelines.reference.schedules.machine import Machine
from pipelines.reference.steps.outlining import is_outlined

# Operations that bodies may contain. They also work on vectors, and never trap: elements behind the
# last one are zeros.
_BODY = (
    "arith.addf",
    "arith.addi",
    "arith.andi",
    "arith.bitcast",
    "arith.cmpf",
    "arith.cmpi",
    "arith.constant",
    "arith.divf",
    "arith.extf",
    "arith.extsi",
    "arith.extui",
    "arith.maximumf",
    "arith.maxnumf",
    "arith.maxsi",
    "arith.minimumf",
    "arith.minnumf",
    "arith.minsi",
    "arith.mulf",
    "arith.muli",
    "arith.negf",
    "arith.ori",
    "arith.select",
    "arith.shli",
    "arith.shrsi",
    "arith.shrui",
    "arith.sitofp",
    "arith.subf",
    "arith.subi",
    "arith.truncf",
    "arith.uitofp",
    "arith.xori",
    "linalg.yield",
    "math.absf",
    "math.ceil",
    "math.floor",
    "math.roundeven",
    "math.sqrt",
)
# Vectors of booleans would be packed into bits, and narrow floats are computed in f32 later.
_ELEMENTS = ("f32", "f64", "i32", "i64")
# Elements below which plain loops take no longer to run than vector code takes to compile.
_FEW = 64
# LLVM unrolls short loops completely, and then has too few registers for the constants.
_ROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"


def vectorize_elementwise(module: ir.Module, machine: Machine) -> None:
    """Replaces large elementwise operations in outlined functions, in place."""
    with module.context, ir.Location.unknown():
        for function in module.body.operations:
            if is_outlined(function):
                for generic in find_operations(function, _is_supported):
                    with ir.InsertionPoint(generic), generic.location:
                        _Loops(generic, machine).emit()
                    generic.erase()


def _is_supported(generic: ir.Operation) -> bool:
    if generic.name != "linalg.generic" or generic.results:
        return False
    sizes, maps = loop_sizes(generic), indexing_maps(generic)
    inputs = generic.attributes["operandSegmentSizes"][0]
    out = list(maps[-1].results)
    if None in sizes or not out or any(each != maps[-1] for each in maps[inputs:]):
        return False
    if not any(isinstance(each.type, ir.MemRefType) for each in generic.operands[:inputs]):
        # LLVM fills memory with memset.
        return False
    # Each loop indexes an axis of the result.
    loops = [each.position for each in out if isinstance(each, ir.AffineDimExpr)]
    if len(loops) != len(out) or sorted(loops) != list(range(len(sizes))):
        return False
    body = [each.operation for each in generic.regions[0].blocks[0].operations]
    return (
        math.prod(sizes) >= _FEW
        and all(_is_vectorizable(each) or _is_branch(each) for each in body)
        and all(
            _is_row(operand.type, indexing, loops[-1])
            for operand, indexing in zip(generic.operands, maps, strict=True)
        )
    )


def _is_vectorizable(operation: ir.Operation) -> bool:
    return operation.name in _BODY and _has_vector_types(operation)


def _has_vector_types(operation: ir.Operation) -> bool:
    return all(str(each.type) in (*_ELEMENTS, "i1") for each in operation.results)


def _is_branch(operation: ir.Operation) -> bool:
    """Returns whether an operation is an `scf.if` that only computes if its condition holds."""
    if operation.name != "scf.if" or not list(operation.results):
        return False
    yes, no = (_operations(region) for region in operation.regions)
    return (
        len(no) == 1
        and _has_vector_types(operation)
        and all(_is_vectorizable(each) for each in yes[:-1])
    )


def _operations(region: ir.Region) -> list[ir.Operation]:
    return [each.operation for each in region.blocks[0].operations]


def _is_row(type: ir.Type, indexing: ir.AffineMap, column: int) -> bool:
    """Returns whether an operand's elements for adjacent columns are adjacent, or the same."""
    if not isinstance(type, ir.MemRefType):
        return not isinstance(type, ir.ShapedType)
    axes = list(indexing.results)
    if str(type.element_type) not in _ELEMENTS or not all(
        isinstance(each, ir.AffineDimExpr)
        or (isinstance(each, ir.AffineConstantExpr) and ir.AffineConstantExpr(each).value == 0)
        for each in axes
    ):
        return False
    found = [axis for axis, each in enumerate(axes) if _position(each) == column]
    strides, _ = type.get_strides_and_offset()
    return not found or (found == [len(axes) - 1] and strides[-1] == 1)


def _position(expression: ir.AffineExpr) -> int | None:
    """Returns the loop that an axis is indexed by; None for a constant."""
    return expression.position if isinstance(expression, ir.AffineDimExpr) else None


class _Loops:
    """Emits the loops for one operation at the current insertion point."""

    def __init__(self, generic: ir.Operation, machine: Machine):
        self._generic = generic
        self._maps = indexing_maps(generic)
        self._inputs = generic.attributes["operandSegmentSizes"][0]
        self._sizes = loop_sizes(generic)
        *self._outer, self._column = [_position(each) for each in self._maps[-1].results]
        *self._body, self._last = [
            each.operation for each in generic.regions[0].blocks[0].operations
        ]
        self._arguments = list(generic.regions[0].blocks[0].arguments)
        widest = max(
            ir.MemRefType(each.type).element_type.width
            for each in generic.operands
            if isinstance(each.type, ir.MemRefType)
        )
        self._lanes = machine.vector_bytes * 8 // widest
        self._has_masks = machine.vector_bytes == 64
        self._loops = self._dependencies()

    def _dependencies(self) -> dict[ir.Value, frozenset[int]]:
        """Returns the loops that each value of the body depends on."""
        loops = {
            argument: frozenset(_position(each) for each in indexing.results) - {None}
            for argument, indexing in zip(self._arguments, self._maps, strict=True)
        }
        for operation in self._body:
            # The operations of a branch, too.
            used = [
                loops.get(operand, frozenset())
                for each in find_operations(operation, lambda _: True)
                for operand in each.operands
            ]
            loops.update(dict.fromkeys(operation.results, frozenset().union(*used)))
        return loops

    def emit(self) -> None:
        """Emits all loops."""
        self._nest(self._outer, {}, {})

    def _nest(
        self, outer: list[int], place: dict[int, ir.Value], known: dict[ir.Value, ir.Value]
    ) -> None:
        """Emits the loops over the outer dimensions that are not in `place` yet, and the columns.

        Args:
            place: the index of each outer dimension so far.
            known: the emitted values of the body, which are the same for all columns.
        """
        known = {**known, **self._scalars(place, known)}
        if not outer:
            self._columns(place, known)
            return
        dimension, *inner = outer
        if self._sizes[dimension] == 1:
            self._nest(inner, {**place, dimension: _number(0)}, known)
            return
        loop = scf.ForOp(_number(0), _number(self._sizes[dimension]), _number(1))
        with ir.InsertionPoint(loop.body):
            self._nest(inner, {**place, dimension: loop.induction_variable}, known)
            scf.YieldOp([])

    def _scalars(
        self, place: dict[int, ir.Value], known: dict[ir.Value, ir.Value]
    ) -> dict[ir.Value, ir.Value]:
        """Emits the values that depend only on these loops, and that are not known yet."""
        found: dict[ir.Value, ir.Value] = {}
        for position, argument in enumerate(self._arguments):
            operand = self._generic.operands[position]
            if argument in known or not self._loops[argument] <= place.keys():
                continue
            if not isinstance(operand.type, ir.MemRefType):
                found[argument] = operand
            elif list(argument.uses):
                found[argument] = memref.LoadOp(operand, self._indices(position, place)).result
        for operation in self._body:
            first = operation.results[0]
            if first in known or not self._loops[first] <= place.keys():
                continue
            copy = operation.clone().operation
            replace_operands(copy, {**known, **found})
            found.update(zip(operation.results, copy.results, strict=True))
        return found

    def _indices(self, position: int, place: dict[int, ir.Value]) -> list[ir.Value]:
        return [
            _number(0) if _position(each) is None else place[_position(each)]
            for each in self._maps[position].results
        ]

    def _columns(self, place: dict[int, ir.Value], known: dict[ir.Value, ir.Value]) -> None:
        """Emits the loop over the columns of a row, and the vectors behind it."""
        size, lanes = self._sizes[self._column], self._lanes
        whole = size // lanes * lanes
        if whole > lanes:
            loop = scf.ForOp(_number(0), _number(whole), _number(lanes))
            loop.operation.attributes["loop_annotation"] = ir.Attribute.parse(_ROLLED)
            with ir.InsertionPoint(loop.body):
                self._vector(place, loop.induction_variable, lanes, None, known)
                scf.YieldOp([])
        elif whole:
            self._vector(place, _number(0), lanes, None, known)
        start, rest = whole, size - whole
        while rest:
            # Without mask registers, masked stores take longer than several narrower vectors.
            bits = (rest - 1).bit_length() if self._has_masks else rest.bit_length() - 1
            width = 1 << bits
            mask = None
            if width > rest:
                kind = ir.VectorType.get([width], ir.IntegerType.get_signless(1))
                mask = build_op("vector.create_mask", kind, _number(rest))
            self._vector(place, _number(start), width, mask, known)
            start, rest = start + width, rest - min(width, rest)

    def _vector(
        self,
        place: dict[int, ir.Value],
        start: ir.Value,
        width: int,
        mask: ir.Value | None,
        known: dict[ir.Value, ir.Value],
    ) -> None:
        """Emits the body for a vector of columns."""
        place = {**place, self._column: start}
        values: dict[ir.Value, ir.Value] = {}
        for position, argument in enumerate(self._arguments):
            if argument not in known and list(argument.uses):
                values[argument] = self._load(position, place, width, mask)
        self._compute(self._body, values, known, width)
        for position, value in enumerate(self._last.operands, start=self._inputs):
            self._store(_widened(value, values, known, width), position, place, mask)

    def _compute(
        self,
        operations: list[ir.Operation],
        values: dict[ir.Value, ir.Value],
        known: dict[ir.Value, ir.Value],
        width: int,
    ) -> None:
        """Emits operations for a vector of columns, and adds their results to `values`."""
        for operation in operations:
            if operation.results[0] in known:
                continue
            if operation.name == "arith.constant":
                values[operation.result] = _vector(operation.clone().operation.result, width)
                continue
            operands = [_widened(each, values, known, width) for each in operation.operands]
            if operation.name == "scf.if":
                results = self._branch(operation, operands[0], values, known, width)
            else:
                results = ir.Operation.create(
                    operation.name,
                    [ir.VectorType.get([width], each.type) for each in operation.results],
                    operands,
                    {each.name: each.attr for each in _attributes(operation)},
                ).results
            values.update(zip(operation.results, results, strict=True))

    def _branch(
        self,
        operation: ir.Operation,
        condition: ir.Value,
        values: dict[ir.Value, ir.Value],
        known: dict[ir.Value, ir.Value],
        width: int,
    ) -> list[ir.Value]:
        """Emits a branch that computes the values of an `scf.if` if any element needs them."""
        yes, no = (_operations(region) for region in operation.regions)
        usual = [_widened(each, values, known, width) for each in no[-1].operands]
        needed = ir.Operation.create(
            "vector.reduction",
            [ir.IntegerType.get_signless(1)],
            [condition],
            {"kind": ir.Attribute.parse("#vector.kind<or>")},
        ).result
        branch = ir.Operation.create("scf.if", [each.type for each in usual], [needed], regions=2)
        with ir.InsertionPoint(branch.regions[0].blocks.append()):
            values = dict(values)
            self._compute(yes[:-1], values, known, width)
            rare = [_widened(each, values, known, width) for each in yes[-1].operands]
            scf.YieldOp(
                [arith.SelectOp(condition, *each).result for each in zip(rare, usual, strict=True)]
            )
        with ir.InsertionPoint(branch.regions[1].blocks.append()):
            scf.YieldOp(usual)
        return list(branch.results)

    def _load(
        self, position: int, place: dict[int, ir.Value], width: int, mask: ir.Value | None
    ) -> ir.Value:
        buffer = self._generic.operands[position]
        kind = ir.VectorType.get([width], buffer.type.element_type)
        indices = self._indices(position, place)
        if mask is None:
            return build_op("vector.load", kind, buffer, *indices)
        zeros = arith.ConstantOp(kind, _zeros(kind)).result
        return build_op("vector.maskedload", kind, buffer, *indices, mask, zeros)

    def _store(
        self, vector: ir.Value, position: int, place: dict[int, ir.Value], mask: ir.Value | None
    ) -> None:
        buffer = self._generic.operands[position]
        indices = self._indices(position, place)
        if mask is None:
            ir.Operation.create("vector.store", [], [vector, buffer, *indices])
        else:
            ir.Operation.create("vector.maskedstore", [], [buffer, *indices, mask, vector])


def _attributes(operation: ir.Operation) -> list[ir.NamedAttribute]:
    return [operation.attributes[index] for index in range(len(operation.attributes))]


def _number(value: int) -> ir.Value:
    return arith.ConstantOp.create_index(value).result


def _vector(value: ir.Value, width: int) -> ir.Value:
    """Returns a vector whose elements are all this number."""
    return build_op("vector.broadcast", ir.VectorType.get([width], value.type), value)


def _widened(
    value: ir.Value,
    values: dict[ir.Value, ir.Value],
    known: dict[ir.Value, ir.Value],
    width: int,
) -> ir.Value:
    """Returns the vector of a value of the body."""
    return values[value] if value in values else _vector(known.get(value, value), width)


def _zeros(kind: ir.VectorType) -> ir.Attribute:
    element = kind.element_type
    is_float = isinstance(element, ir.FloatType)
    zero = ir.FloatAttr.get(element, 0.0) if is_float else ir.IntegerAttr.get(element, 0)
    return ir.DenseElementsAttr.get_splat(kind, zero)
