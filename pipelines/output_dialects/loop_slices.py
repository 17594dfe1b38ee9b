"""Reads and writes the rows of a counted loop as slices instead of by index tensors.

A loop over the steps of a sequence reads row k of its input and writes row k of its output. In the
torch dialect, k is a tensor, and the operators are `index_select` and `index_put`. If all rows are
within the bounds, they become slices at the loop's induction variable, which need no check in the
loop, and the output is updated in place.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op, erase_without_users, find_operations
from pipelines.ir.torch_operations import (
    builtin_type,
    from_builtin,
    integer_constant,
    load_dialects,
    sizes_of,
    to_builtin,
)
from pipelines.ir.values import block_of, producer, producer_named, terminator
from pipelines.output_dialects.loops import LOOP, SUMS, CountedLoop, constant

_RESHAPES = ("torch.aten.view", "torch.aten.unsqueeze", "torch.aten.reshape")


def slice_rows(module: ir.Module) -> None:
    """Rewrites counted loops in place, before any operator is lowered."""
    loops = find_operations(module, lambda each: each.name == LOOP)
    if not loops:
        return
    with module.context:
        load_dialects(module, "convert-torch-to-linalg")
        for loop in loops:
            counted = CountedLoop.find(loop)
            if counted is not None:
                _Rewriter(counted).rewrite()


class _Rewriter:
    def __init__(self, counted: CountedLoop):
        self._counted = counted
        self._loop, self._body = counted.loop, counted.body

    def rewrite(self) -> None:
        """Rewrites accesses to rows. Then drops the counter, unless something else reads it."""
        rewritings = {
            "torch.aten.index_select": self._select,
            "torch.aten.index_put": self._put,
            "torch.aten.index_put.hacked_twin": self._put,
        }
        for operation in [each.operation for each in self._body.operations]:
            if operation.name in rewritings:
                with ir.InsertionPoint(operation), operation.location:
                    result = rewritings[operation.name](operation)
                if result is not None:
                    operation.results[0].replace_all_uses_with(result)
                    operation.erase()
        self._drop_counter()

    def _drop_counter(self) -> None:
        """Makes the loop pass its counter on unchanged, for canonicalization to remove it."""
        end = terminator(self._body)
        counter = self._counted.counter
        # Pure operations on row numbers that nothing reads anymore.
        names = (*_RESHAPES, "torch.prim.ListConstruct")
        erase_without_users(
            [each for each in self._body.operations if each.operation.name in names]
        )
        is_read = len(list(counter.uses)) > 1 or list(
            self._loop.results[self._counted.position].uses
        )
        if not is_read:
            end.operands[self._counted.position + 1] = counter

    def _select(self, select: ir.Operation) -> ir.Value | None:
        source, axis, index = select.operands
        kind = select.results[0].type
        if constant(axis) != 0 or sizes_of(kind)[:1] != [1] or not self._fits(index, source):
            return None
        row = _extract(to_builtin(source), self._place(index), kind)
        return from_builtin(row, kind)

    def _put(self, put: ir.Operation) -> ir.Value | None:
        target, indices, value, accumulate = put.operands
        made = producer_named(indices, "torch.prim.ListConstruct")
        if made is None or len(made.operands) != 1 or constant(accumulate) != 0:
            return None
        (index,) = made.operands
        if sizes_of(value.type) != [1, *sizes_of(target.type)[1:]] or not self._fits(index, target):
            return None
        for axis, size in enumerate(sizes_of(value.type)):
            if size is None:
                # The update is not broadcast to the row.
                _require_equal(_size(value, axis), _size(target, axis))
        result = _insert(to_builtin(value), to_builtin(target), self._place(index), value.type)
        return from_builtin(result, target.type)

    def _fits(self, index: ir.Value, source: ir.Value) -> bool:
        """Returns whether all rows are within the bounds.

        If a number is dynamic, creates a check before the loop.
        """
        first = self._first_row(index)
        if first is None or first < 0:
            return False
        trips, size = constant(self._loop.operands[0]), sizes_of(source.type)[0]
        if trips is not None and size is not None:
            return first + trips <= size
        if not self._is_outside(source):
            source = self._initial(source)
        if source is None:
            return False
        with ir.InsertionPoint(self._loop), self._loop.location:
            _require_rows(self._loop.operands[0], first, source)
        return True

    def _is_outside(self, value: ir.Value) -> bool:
        return block_of(value) != self._body

    def _initial(self, value: ir.Value) -> ir.Value | None:
        """Returns the initial value of one of the loop's states, which has the same sizes."""
        if producer(value) is not None:
            return None
        return self._loop.operands[ir.BlockArgument(value).arg_number + 1]

    def _place(self, index: ir.Value) -> ir.Value:
        """Creates the row number, of type `index`."""
        number = build_op("torch_c.to_i64", "i64", self._body.arguments[0])
        number = build_op("arith.index_cast", "index", number)
        first = self._first_row(index)
        if first == 0:
            return number
        kind = ir.IndexType.get()
        offset = build_op("arith.constant", kind, value=ir.IntegerAttr.get(kind, first))
        return build_op("arith.addi", kind, number, offset)

    def _first_row(self, value: ir.Value) -> int | None:
        """Returns the row number in the first iteration, if each iteration increases it by one."""
        if value == self._counted.counter:
            return self._counted.start
        reshape, addition = producer_named(value, *_RESHAPES), producer_named(value, *SUMS)
        if reshape is not None:
            return self._first_row(reshape.operands[0])
        if addition is not None and constant(addition.operands[2]) == 1:
            first, more = self._first_row(addition.operands[0]), constant(addition.operands[1])
            return None if first is None or more is None else first + more
        return None


def _require_rows(trips: ir.Value, first: int, source: ir.Value) -> None:
    """Creates a check that rows `first` to `first + trips - 1` exist."""
    size = _size(source, 0)
    same = producer_named(trips, "torch.aten.size.int")
    if same is not None and first == 0:
        x, axis = same.operands
        if x == source and constant(axis) == 0:
            return
    last = build_op("torch.aten.add.int", "!torch.int", trips, integer_constant(first))
    _require(build_op("torch.aten.ge.int", "!torch.bool", size, last), "index out of range")


def _require_equal(size: ir.Value, other: ir.Value) -> None:
    equal = build_op("torch.aten.eq.int", "!torch.bool", size, other)
    _require(equal, "the sizes of a row and its new value differ")


def _require(flag: ir.Value, message: str) -> None:
    attributes = {"message": ir.StringAttr.get(message)}
    ir.Operation.create("torch.runtime.assert", [], [flag], attributes)


def _size(value: ir.Value, axis: int) -> ir.Value:
    return build_op("torch.aten.size.int", "!torch.int", value, integer_constant(axis))


def _extract(source: ir.Value, place: ir.Value, kind: ir.Type) -> ir.Value:
    sizes, attributes = _row(source, kind, operands=1)
    return build_op("tensor.extract_slice", builtin_type(kind), source, place, *sizes, **attributes)


def _insert(row: ir.Value, target: ir.Value, place: ir.Value, kind: ir.Type) -> ir.Value:
    sizes, attributes = _row(row, kind, operands=2)
    return build_op("tensor.insert_slice", target.type, row, target, place, *sizes, **attributes)


def _row(like: ir.Value, kind: ir.Type, operands: int) -> tuple[list[ir.Value], dict]:
    """Returns the dynamic sizes of a slice with one row, and the attributes of its operation."""
    index, dynamic = ir.IndexType.get(), ir.ShapedType.get_dynamic_size()
    sizes = sizes_of(kind)
    numbers = []
    for axis, size in enumerate(sizes):
        if size is None:
            position = build_op("arith.constant", index, value=ir.IntegerAttr.get(index, axis))
            numbers.append(build_op("tensor.dim", index, like, position))
    segments = [*[1] * operands, 1, len(numbers), 0]
    return numbers, {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
        "static_offsets": ir.DenseI64ArrayAttr.get([dynamic, *[0] * (len(sizes) - 1)]),
        "static_sizes": ir.DenseI64ArrayAttr.get([dynamic if n is None else n for n in sizes]),
        "static_strides": ir.DenseI64ArrayAttr.get([1] * len(sizes)),
    }
