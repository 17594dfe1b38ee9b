"""Creates one step of a loop in a dispatch."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pipelines.ir.generics import generic, generic_without_body
from pipelines.ir.lazy_dialects import arith
from pipelines.ir.loops import Size, Slice, index
from pipelines.ir.modules import build_op, replace_operands
from pipelines.ir.tensor_ops import empty, reshaped, sliced, zeros
from pipelines.ir.values import constant_integer
from pipelines.iree.loop_dispatch.plan import Plan, body_of, bytes_of, unshaped

# Bytes of the results of a matrix product that are summed in registers, and of the vectors of
# elementwise operations.
_SUMS, _VECTOR = 512, 128
_MOST_ROWS = 8


def parity(number: ir.Value) -> Size:
    """Returns 1 if a number of steps is odd, else 0: the position of the state after them."""
    known = constant_integer(number)
    return arith.RemUIOp(number, index(2)).result if known is None else known % 2


def step(
    loop: ir.Operation,
    plan: Plan,
    packed: ir.Value,
    number: ir.Value,
    carried: Sequence[ir.Value],
) -> list[ir.Value]:
    """Creates a step at the insertion point. Returns the carried tensors after the step."""
    block = loop.regions[0].blocks[0]
    current = parity(number)
    following = arith.SubIOp(index(1), current).result
    known = {block.arguments[0]: number}
    for position, (old, new) in enumerate(zip(list(block.arguments)[1:], carried, strict=True)):
        is_state = position not in plan.collected
        known[old] = Slice.at(new, {0: current}).take(new) if is_state else new
    copies = []
    *operations, last = (each.operation for each in block.operations)
    for operation in operations:
        if operation.name == "cf.assert":
            continue
        if operation.results and operation.results[0] in plan.ranges.numbers:
            known[operation.result] = number
            continue
        if operation == plan.product:
            left = known[operation.operands[0]]
            known[operation.result] = _product(operation, left, packed)
            continue
        copy = operation.clone().operation
        replace_operands(copy, known)
        known.update(zip(operation.results, copy.results, strict=True))
        copies.append(copy)
    roots = [known[root] for root in plan.roots]
    kept = dict(zip(plan.roots, _fused(roots), strict=True))
    results = []
    for position, (tensor, result) in enumerate(zip(carried, last.operands, strict=True)):
        row: Size = following
        if position in plan.collected:
            result, row = result.owner.operands[0], number
        units = {axis: 0 for axis in _units(tensor.type) if axis}
        results.append(Slice.at(tensor, {0: row, **units}).put(kept[unshaped(result)], tensor))
    for copy in reversed(copies):
        if not any(list(result.uses) for result in copy.results):
            copy.erase()
    return results


def _product(product: ir.Operation, left: ir.Value, packed: ir.Value) -> ir.Value:
    """Creates the matrix product of a step with a packed matrix.

    IREE would remove loops over axes of size 1, and the schedule with them, so there are none.
    """
    kind = ir.RankedTensorType(product.result.type)
    rows, columns = kind.shape
    outer = [] if rows == 1 else [rows]
    *tiles, _, lanes = ir.RankedTensorType(packed.type).shape
    if rows == 1:
        left = Slice.at(left, {0: 0}).take(left)
    shape = [*outer, *tiles, lanes]
    depth, first = len(shape), len(outer)
    (result,) = generic(
        [left, packed],
        [zeros(shape, kind.element_type)],
        [
            [*range(first), depth],
            [*range(first, depth - 1), depth, depth - 1],
            list(range(depth)),
        ],
        [*["parallel"] * depth, "reduction"],
        lambda one, other, total: [arith.AddFOp(total, arith.MulFOp(one, other).result).result],
    )
    result.owner.attributes["compilation_info"] = _product_schedule(outer, shape)
    if tiles:
        whole = [*outer, tiles[0] * lanes]
        groups = [*([axis] for axis in range(first)), [first, first + 1]]
        result = reshaped("tensor.collapse_shape", result, whole, groups)
    if ir.RankedTensorType(result.type).shape[-1] != columns:
        result = sliced(result, [*outer, columns], [1] * (first + 1))
    return result if outer else reshaped("tensor.expand_shape", result, [1, columns], [[0, 1]])


def packed_matrix(product: ir.Operation) -> ir.Value:
    """Creates the matrix of a product as tiles of columns, which are adjacent in memory."""
    kind = ir.RankedTensorType(product.operands[1].type)
    depth, columns = kind.shape
    rows, _ = ir.RankedTensorType(product.operands[0].type).shape
    most = _SUMS // bytes_of(kind) // _rows(rows)
    if columns <= most:
        return product.operands[1]
    lanes = 1 << (most.bit_length() - 1)
    shape = [-(-columns // lanes), depth, lanes]
    zero = arith.ConstantOp(kind.element_type, ir.FloatAttr.get(kind.element_type, 0.0)).result
    array = ir.DenseI64ArrayAttr.get
    return build_op(
        "linalg.pack",
        ir.RankedTensorType.get(shape, kind.element_type),
        product.operands[1],
        empty(shape, kind.element_type),
        zero,
        inner_dims_pos=array([1]),
        outer_dims_perm=array([1, 0]),
        static_inner_tiles=array([lanes]),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, 1, 0]),
    )


def _rows(count: int) -> int:
    """Returns the number of rows that are multiplied at a time."""
    return _tile(count, _MOST_ROWS)


def _units(kind: ir.Type) -> list[int]:
    """Returns the axes of size 1."""
    return [axis for axis, size in enumerate(ir.RankedTensorType(kind).shape) if size == 1]


def _fused(roots: Sequence[ir.Value]) -> list[ir.Value]:
    """Computes the results of elementwise operations by one operation at the insertion point.

    The results have no axes of size 1.
    """
    kind = ir.RankedTensorType(roots[0].type)
    kind = ir.RankedTensorType.get([size for size in kind.shape if size != 1], kind.element_type)
    body = body_of(roots)
    inputs, axes = [], []
    for leaf in body.leaves:
        loops = [place.loops[0][0] if place.loops else None for place in leaf.at]
        axes.append([loop for loop in loops if loop is not None])
        part = Slice(
            tuple(place.number for place in leaf.at),
            tuple(1 if loop is None else kind.shape[loop] for loop in loops),
            tuple(axis for axis, loop in enumerate(loops) if loop is not None),
        )
        inputs.append(leaf.value if part == Slice.at(leaf.value, {}) else part.take(leaf.value))
    outputs = [empty(list(kind.shape), kind.element_type) for _ in roots]
    every = list(range(kind.rank))
    fused = generic_without_body(
        inputs, outputs, [*axes, *[every] * len(roots)], ["parallel"] * kind.rank
    )
    for _ in roots:
        body.argument(kind.element_type)
    body.move_to(fused)
    fused.attributes["lowering_config"] = _elementwise_schedule(kind)
    return list(fused.results)


def _product_schedule(outer: Sequence[int], shape: Sequence[int]) -> ir.Attribute:
    """Returns IREE's tile sizes: sums in registers, one row of the matrix at a time."""
    rows = [_rows(count) for count in outer]
    tiles = [1] * (len(shape) - len(outer) - 1)
    return ir.Attribute.parse(
        "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
        f"distribution = {[0] * (len(shape) + 1)}, "
        f"vector_common_parallel = {[*rows, *tiles, shape[-1], 0]}, "
        f"vector_reduction = {[0] * len(shape) + [1]}>, translation_info = "
        "#iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"
    )


def _elementwise_schedule(kind: ir.RankedTensorType) -> ir.Attribute:
    *outer, length = kind.shape
    most = _VECTOR // bytes_of(kind)
    tile = _tile(length, most)
    if tile < most // 4:
        tile = min(length, most)
    tile = [*[1] * len(outer), tile]
    return ir.Attribute.parse(f"#iree_cpu.lowering_config<vector_inner_parallel = {tile}>")


def _tile(length: int, most: int) -> int:
    """Returns the largest divisor of a length that is at most `most`."""
    return next(size for size in range(min(length, most), 0, -1) if length % size == 0)
