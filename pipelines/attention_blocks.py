"""Computes attention in blocks of rows, so that the scores of a block stay in the cache.

Attention multiplies queries and keys, normalizes each row of the scores by softmax, and multiplies
the result by the values. For 8 heads of 4096 tokens, the scores have 537 MB, which every operation
between the two products reads or writes. A row of the result needs only one row of the scores. So a
loop computes the result in blocks of rows, with all operations from the first product to the
second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch_mlir import ir

from pipelines.ir.contraction import loop_sizes
from pipelines.ir.generics import is_reduction
from pipelines.ir.lazy_dialects import arith, linalg, scf
from pipelines.ir.loops import Size, Slice, index, repeat
from pipelines.ir.modules import build_op, erase_without_users, find_operations
from pipelines.ir.sizes import element_bytes
from pipelines.ir.tensor_ops import RESHAPES
from pipelines.ir.values import producer
from pipelines.pipeline import Step

# A product with fewer rows takes too long for each row.
FEW_ROWS = 32

# The rows of all heads have consecutive numbers. Maps each axis of a tensor, or each loop, that
# depends on the row to the number of rows between two indices.
_Strides = Mapping[int, int]
# Computes the block with an index. Returns it with its place in the result.
_Compute = Callable[[ir.Value], tuple[ir.Value, Slice]]
# Creates a loop over a number of blocks. Takes the tensor that the loop fills, and returns the
# result.
_Loop = Callable[[int, ir.Value, _Compute], ir.Value]


@dataclass(frozen=True)
class Limits:
    """Sizes that depend on how long an iteration of the loop takes, and on the caches.

    Attributes:
        least: the bytes of scores from which on blocks are faster.
        block: the most bytes of the scores of a block, if the number of rows has a suitable
            divisor.
        count: the least number of blocks, if the number of rows has a suitable divisor.
    """

    least: int
    block: int
    count: int


# Each iteration starts several dispatches, which threads share.
IN_ORDER = Limits(least=32 << 20, block=8 << 20, count=2)
# Threads share the blocks.
IN_PARALLEL = Limits(least=1 << 20, block=2 << 20, count=16)


def compute_blocks_in_order(module: ir.Module) -> None:
    """Puts large attention into loops that carry the result. Changes the IR at linalg in place."""
    _rewrite(module, _loop_in_order, IN_ORDER)


def compute_blocks_in_parallel(module: ir.Module) -> None:
    """Puts large attention into loops with parallel iterations. Changes the IR in place."""
    _rewrite(module, _loop_in_parallel, IN_PARALLEL)


def _rewrite(module: ir.Module, loop: _Loop, limits: Limits) -> None:
    with module.context, ir.Location.unknown():
        for product in find_operations(module, _is_product):
            attention = _Attention.of(product)
            if attention is not None:
                attention.rewrite(loop, limits)


def _is_product(operation: ir.Operation) -> bool:
    return (
        operation.name.startswith("linalg.")
        and len(operation.results) == 1
        and linalg.isa_contraction_op(operation)
    )


def _loop_in_order(count: int, result: ir.Value, compute: _Compute) -> ir.Value:
    def body(number: ir.Value, whole: ir.Value) -> list[ir.Value]:
        part, place = compute(number)
        return [place.put(part, whole)]

    return repeat(0, count, 1, [result], body)[0]


def _loop_in_parallel(count: int, result: ir.Value, compute: _Compute) -> ir.Value:
    loop = scf.ForallOp([0], [count], [1], [result])
    with ir.InsertionPoint(loop.body):
        part, place = compute(loop.induction_variables[0])
        end = scf.InParallelOp()
    with ir.InsertionPoint(end.region.blocks[0]):
        place.put_in_parallel(part, loop.inner_iter_args[0])
    return loop.results[0]


@dataclass
class _Attention:
    """The operations from the scores of attention to its result.

    Attributes:
        product: the product with the values.
        rows: the number of rows of all heads.
        operations: those that compute a block, with operands before users.
        strides: of the values that these operations compute.
    """

    product: ir.Operation
    rows: int = 1
    operations: list[ir.Operation] = field(default_factory=list)
    strides: dict[ir.Value, _Strides] = field(default_factory=dict)

    @classmethod
    def of(cls, product: ir.Operation) -> _Attention | None:
        """Returns the attention that ends with a product, or None."""
        if not all(each.type.has_static_shape for each in product.operands):
            return None
        scores = _scores(product)
        if not scores:
            return None
        dimensions = linalg.infer_contraction_dimensions(product)
        numbered = {*dimensions.batch, *dimensions.m}
        found, strides = cls(product), {}
        places = _maps(product)[-1].results
        for axis in reversed(range(len(places))):
            if places[axis].position in numbered:
                strides[axis] = found.rows
                found.rows *= product.results[0].type.shape[axis]
        is_known = found._visit(product.results[0], strides, scores)
        return found if is_known and found._has_softmax() else None

    def _visit(self, value: ir.Value, strides: _Strides, scores: set[ir.Value]) -> bool:
        """Adds the operations that compute a value, from the first product on.

        Args:
            strides: of the value.
            scores: the values that depend on the first product.

        Returns:
            False if an operation is not supported.
        """
        operation = producer(value)
        if not (value in scores or (operation is not None and _starts(operation))):
            return True
        if value in self.strides:
            return self.strides[value] == strides
        # Every block would compute a value again that does not depend on its rows.
        if value in scores and math.prod(value.type.shape[each] for each in strides) != self.rows:
            return False
        self.strides[value] = strides
        of_operands = _strides_of_operands(operation, strides)
        if of_operands is None:
            return False
        for operand, of_operand in zip(operation.operands, of_operands, strict=True):
            if not self._visit(operand, of_operand, scores):
                return False
        if operation not in self.operations:
            self.operations.append(operation)
        return True

    def _has_softmax(self) -> bool:
        """Returns whether the largest element of each row is computed."""
        return any(
            is_reduction(each)
            and find_operations(
                each, lambda inner: inner.name in ("arith.maximumf", "arith.maxnumf")
            )
            for each in self.operations
        )

    def rewrite(self, loop: _Loop, limits: Limits) -> None:
        """Puts the operations into a loop over blocks, if there are many scores."""
        scores = max(_bytes(value) for value in self.strides)
        if scores < limits.least:
            return
        most = min(limits.block * self.rows // scores, self.rows // limits.count)
        rows = self._rows_of_block(most)
        if rows is None:
            return
        with ir.InsertionPoint(self.product), self.product.location:
            whole = build_op("tensor.empty", self.product.results[0].type)
            result = loop(self.rows // rows, whole, _Block(self, rows).compute)
        self.product.results[0].replace_all_uses_with(result)
        erase_without_users(self.operations)

    def _rows_of_block(self, most: int) -> int | None:
        """Returns a number of rows that is a range of indices along each axis, or None.

        It is the largest one up to `most`, or the smallest one above if that is too small.
        """
        axes = {
            (stride, value.type.shape[axis])
            for value, strides in self.strides.items()
            for axis, stride in strides.items()
        }
        possible = sorted(
            rows
            for rows in {stride * n for stride, size in axes for n in range(1, size + 1)}
            if rows < self.rows and all(_is_range(rows, *axis) for axis in axes)
        )
        few = [rows for rows in possible if rows <= most]
        many = [rows for rows in possible if rows > most]
        if few and few[-1] >= FEW_ROWS:
            return few[-1]
        return many[0] if many else None


class _Block:
    """Computes one block of rows of an attention, at the insertion point."""

    def __init__(self, attention: _Attention, rows: int):
        self._attention = attention
        self._rows = rows

    def compute(self, number: ir.Value) -> tuple[ir.Value, Slice]:
        """Returns a block and its place in the result.

        Args:
            number: of the block.
        """
        self._number = number
        self._computed: dict[ir.Value, ir.Value] = {}
        for operation in self._attention.operations:
            with operation.location:
                self._copy(operation)
        whole = self._attention.product.results[0]
        return self._computed[whole], self._place(whole, self._attention.strides[whole])

    def _copy(self, operation: ir.Operation) -> None:
        """Creates the operation on the rows of the block."""
        strides = [self._attention.strides.get(each) for each in operation.results]
        known = next(each for each in strides if each is not None)
        of_operands = _strides_of_operands(operation, known)
        operands = [
            self._computed.get(value) or self._part(value, of_value)
            for value, of_value in zip(operation.operands, of_operands, strict=True)
        ]
        copy = operation.clone().operation
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        if operation.name.startswith("linalg."):
            kinds = [each.type for each in operands[-len(operation.results) :]]
            self._shift_indices(copy, operation, known)
        else:
            kinds = [self._type(operation.results[0], known)]
            if operation.name == "tensor.expand_shape":
                copy.attributes["static_output_shape"] = ir.DenseI64ArrayAttr.get(kinds[0].shape)
        for old, new, kind in zip(operation.results, copy.results, kinds, strict=True):
            new.set_type(kind)
            self._computed[old] = new

    def _part(self, value: ir.Value, strides: _Strides) -> ir.Value:
        """Returns the part of an operand that the block reads."""
        if not strides or self._shape(value, strides) == value.type.shape:
            return value
        return self._place(value, strides).take(value)

    def _place(self, value: ir.Value, strides: _Strides) -> Slice:
        shape = value.type.shape
        offsets = [
            self._index(strides[axis], size) if axis in strides else 0
            for axis, size in enumerate(shape)
        ]
        return Slice(tuple(offsets), tuple(self._shape(value, strides)), tuple(range(len(shape))))

    def _shape(self, value: ir.Value, strides: _Strides) -> list[int]:
        return [
            self._length(strides[axis], size) if axis in strides else size
            for axis, size in enumerate(value.type.shape)
        ]

    def _length(self, stride: int, size: int) -> int:
        """Returns the number of indices of the block along an axis of this size."""
        return min(max(self._rows // stride, 1), size)

    def _type(self, value: ir.Value, strides: _Strides) -> ir.Type:
        return ir.RankedTensorType.get(self._shape(value, strides), value.type.element_type)

    def _index(self, stride: int, size: int) -> Size:
        """Returns the index of the block's first row along an axis of this size."""
        length = self._length(stride, size)
        blocks = max(stride // self._rows, 1)
        place = self._number
        if size == length:
            return 0
        if blocks > 1:
            place = arith.DivUIOp(place, index(blocks)).result
        if stride * size < self._attention.rows:
            place = arith.RemUIOp(place, index(size // length)).result
        return place if length == 1 else arith.MulIOp(place, index(length)).result

    def _shift_indices(self, copy: ir.Operation, whole: ir.Operation, strides: _Strides) -> None:
        """Adds the index of the first row to each `linalg.index` that depends on the row."""
        loops = _strides_of_loops(whole, strides)
        for inner in find_operations(copy, lambda each: each.name == "linalg.index"):
            loop = ir.IntegerAttr(inner.attributes["dim"]).value
            if loop in loops:
                with ir.InsertionPoint(copy):
                    first = index(self._index(loops[loop], loop_sizes(whole)[loop]))
                with ir.InsertionPoint.after(inner):
                    place = arith.AddIOp(inner.result, first)
                inner.result.replace_all_uses_except(place.result, [place.operation])


def _is_range(rows: int, stride: int, size: int) -> bool:
    """Returns whether blocks of so many rows divide an axis into equal ranges of indices."""
    if rows % (stride * size) == 0 or stride % rows == 0:
        return True
    return rows % stride == 0 and size % (rows // stride) == 0


def _scores(product: ir.Operation) -> set[ir.Value]:
    """Returns the values that depend on an earlier product and that only `product` needs.

    They are computed by reshapes, elementwise operations and reductions. Its own result is one of
    them. Empty if there is no earlier product.
    """
    inside, products = {product}, []
    pending = [producer(product.operands[0])]
    while pending:
        operation = pending.pop()
        if operation is None or operation in inside or operation.block != product.block:
            continue
        users = {use.owner.operation for result in operation.results for use in result.uses}
        # If another operation uses it, too, this one comes again after the last of its users.
        if not users <= inside:
            continue
        if _is_product(operation):
            products.append(operation)
        elif operation.name in RESHAPES or operation.name == "linalg.generic":
            pending += map(producer, operation.operands)
        else:
            continue
        inside.add(operation)
    scores, pending = set(), [each.results[0] for each in products]
    while pending:
        value = pending.pop()
        if value not in scores:
            scores.add(value)
            users = [use.owner.operation for use in value.uses if value != product.results[0]]
            pending += [result for user in users for result in user.results]
    return scores


def _starts(operation: ir.Operation) -> bool:
    """Returns whether an operation only creates the tensor to which another writes its result."""
    if operation.name == "linalg.generic":
        return not operation.attributes["operandSegmentSizes"][0]
    return operation.name in ("linalg.fill", "tensor.empty")


def _maps(operation: ir.Operation) -> list[ir.AffineMap]:
    return [each.value for each in linalg.get_indexing_maps(operation)]


def _strides_of_loops(operation: ir.Operation, strides: _Strides) -> _Strides:
    """Returns the strides of the loops of a linalg operation whose results have `strides`."""
    result = _maps(operation)[-len(operation.results)]
    return {result.results[axis].position: rows for axis, rows in strides.items()}


def _strides_of_operands(operation: ir.Operation, strides: _Strides) -> list[_Strides] | None:
    """Returns the strides of each operand, or None if they are not known.

    Args:
        strides: of the results.
    """
    if operation.name == "tensor.empty":
        return []
    if operation.name in RESHAPES:
        before = _before_reshape(operation, strides)
        return None if before is None else [before]
    maps = _maps(operation)
    if len(set(maps[-len(operation.results) :])) > 1:
        return None
    loops = _strides_of_loops(operation, strides)
    found = []
    for operand, indexing in zip(operation.operands, maps, strict=True):
        of_operand = {}
        for axis, expression in enumerate(indexing.results):
            if isinstance(expression, ir.AffineDimExpr):
                if expression.position in loops and operand.type.shape[axis] != 1:
                    of_operand[axis] = loops[expression.position]
            elif not isinstance(expression, ir.AffineConstantExpr):
                return None
        found.append(of_operand)
    return found


def _before_reshape(reshape: ir.Operation, strides: _Strides) -> _Strides | None:
    """Returns the strides of a reshape's operand; None if its axes do not consist of rows."""
    source, result = (each.type.shape for each in (reshape.operands[0], reshape.results[0]))
    expands = reshape.name == "tensor.expand_shape"
    found = {}
    for one, group in enumerate(reshape.attributes["reassociation"]):
        many = [ir.IntegerAttr(axis).value for axis in group]
        if expands:
            axes = [axis for axis in many if result[axis] != 1]
            of_axes = [strides.get(axis) for axis in axes]
            if not any(of_axes):
                continue
            rows = of_axes[-1]
            if rows is None:
                return None
            for axis, stride in zip(reversed(axes), reversed(of_axes), strict=True):
                if stride != rows:
                    return None
                rows *= result[axis]
            found[one] = of_axes[-1]
        elif one in strides:
            rows = strides[one]
            for axis in reversed(many):
                if source[axis] != 1:
                    found[axis] = rows
                    rows *= source[axis]
    return found


def _bytes(value: ir.Value) -> int:
    kind = value.type
    return math.prod(kind.shape) * element_bytes(kind.element_type)


COMPUTE_BLOCKS_IN_ORDER = Step(
    "iree-attention-blocks",
    "compute large attention in blocks of rows, whose scores stay in the cache",
    compute_blocks_in_order,
)
COMPUTE_BLOCKS_IN_PARALLEL = Step(
    "reference-attention-blocks",
    "compute large attention in blocks of rows, which threads share and whose scores stay in the "
    "cache",
    compute_blocks_in_parallel,
)
