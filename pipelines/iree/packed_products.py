"""Multiplies with packed weights without unpacking them to memory first.

By itself, IREE writes the unpacked weights to memory, in each call, or unpacks one weight at a time
in code that is not vectorized. Here, a product with a matrix that is computed from packed weights
becomes one operation, which unpacks a vector of weights and multiplies it with each row of the
other operand. The rows of the matrix are the lanes of the vector: the packed weights are
transposed, so that lanes are adjacent. `lanes.py` does that once, when the program is loaded.

Products of the same row with several matrices become one operation with several results, such as
those for the keys and the values of an attention layer: a program that generates text has hundreds
of products that take a few microseconds, and IREE needs 1 to 2 µs to begin one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from torch_mlir import ir

from pipelines.ir.bodies import Body, Leaf
from pipelines.ir.generics import generic_without_body
from pipelines.ir.loops import Slice
from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.scalars import Index, is_elementwise
from pipelines.ir.tensor_ops import Size, empty, reshaped, sizes_of, zeros
from pipelines.ir.values import producer, producer_named
from pipelines.pipeline import Step

# Rows of the matrix in a vector: the first of these numbers that divides their count. Sums in two
# AVX-512 registers were 10 % faster than in one.
_LANES = (32, 16, 8)
# Rows of the other operand that are multiplied with the same unpacked vector.
_ROWS = 4
# Vectors of rows of the matrix that a workgroup computes at most.
_LARGEST_TILE = 16
# Fields of the same integers are unpacked together, at most this many.
_MOST_FIELDS = 8
# Types of packed numbers.
_BYTES = ("i8", "f8E4M3FN")


def multiply_packed(module: ir.Module) -> None:
    """Rewrites matrix products with packed weights, in a module at `linalg`, in place.

    The module's context must allow unregistered dialects: the products get attributes of IREE.
    """
    with module.context:
        for products in _groups(find_operations(module, _is_packed)):
            with ir.InsertionPoint(products[0]), products[0].location:
                _rewrite(products)


def _groups(products: Sequence[ir.Operation]) -> Iterator[list[ir.Operation]]:
    """Yields products that become one operation: of one row, with weights of the same form."""
    groups: dict[object, list[ir.Operation]] = {}
    for product in products:
        left, matrix, init = product.operands
        leaves = _leaves(_computed(matrix))
        form = tuple((str(leaf.kind), leaf.loops) for leaf in leaves)
        is_zeros = producer_named(init, "linalg.fill") is not None
        is_one_row = is_zeros and ir.RankedTensorType(left.type).shape[0] == 1
        kind = str(_computed(matrix).type)
        key = (product.block, left, kind, form) if is_one_row else product
        groups.setdefault(key, []).append(product)
    yield from groups.values()


def _is_packed(product: ir.Operation) -> bool:
    if product.name != "linalg.matmul":
        return False
    computed = _computed(product.operands[1])
    if computed is None or _lanes(computed) is None:
        return False
    leaves = _leaves(computed)
    return leaves is not None and _main(leaves) is not None


def _computed(matrix: ir.Value) -> ir.Value | None:
    """Returns the computed weights, f32 of (rows, …), whose transposed matrix is `matrix`."""
    transpose = producer_named(matrix, "linalg.transpose")
    if transpose is None:
        return None
    collapse = producer_named(transpose.operands[0], "tensor.collapse_shape")
    if collapse is None:
        return None
    computed = collapse.operands[0]
    kind = ir.RankedTensorType(computed.type)
    rows = [ir.IntegerAttr(axis).value for axis in collapse.attributes["reassociation"][0]]
    is_fitting = rows == [0] and kind.has_static_shape and str(kind.element_type) == "f32"
    return computed if is_fitting and is_elementwise(producer(computed)) else None


def _lanes(computed: ir.Value) -> int | None:
    rows = ir.RankedTensorType(computed.type).shape[0]
    return next((lanes for lanes in _LANES if rows % lanes == 0), None)


def _weight_at(value: ir.Value, at: tuple[Index, ...]) -> tuple[ir.Value, tuple[Index, ...]] | None:
    """Returns the weight and the indices if a body reads it along whole axes, otherwise None."""
    is_sliced = all(place.loop is not None or not place.loops for place in at)
    return (value, at) if is_sliced and _is_weight(value) else None


def _is_weight(value: ir.Value) -> bool:
    """Returns whether a value is an argument of the function, maybe expanded, or a constant."""
    operation = producer(value)
    if operation is not None and operation.name == "tensor.expand_shape":
        return producer(operation.operands[0]) is None
    return operation is None or operation.name == "arith.constant"


def _leaves(computed: ir.Value) -> list[Leaf] | None:
    """Returns the tensors that weights are computed from; None if one is not a weight."""
    rank = ir.RankedTensorType(computed.type).rank
    with ir.InsertionPoint(computed.owner), ir.Location.unknown():
        body = Body(_weight_at)
        found = body.element(computed, [Index.of_loop(axis) for axis in range(rank)])
        body.drop()
    return None if found is None else body.leaves


def _main(leaves: list[Leaf]) -> Leaf | None:
    """Returns the largest tensor of bytes, the packed numbers; None without one."""
    of_bytes = [leaf for leaf in leaves if str(leaf.kind.element_type) in _BYTES]
    return max(of_bytes, key=lambda leaf: math.prod(leaf.kind.shape), default=None)


def _rewrite(products: Sequence[ir.Operation]) -> None:
    """Replaces products with the same left operand by one operation, at the insertion point."""
    product = products[0]
    matrices = [_computed(each.operands[1]) for each in products]
    lanes = _lanes(matrices[0])
    rows, *inner = ir.RankedTensorType(matrices[0].type).shape
    main = _main(_leaves(matrices[0]))
    # Loops over fields of the same integers are unrolled in the body.
    fields = [axis for axis in range(1, len(inner) + 1) if axis not in main.loops]
    if math.prod(inner[axis - 1] for axis in fields) > _MOST_FIELDS:
        fields = []
    # A row may be one group. IREE would remove a loop over it, and the schedule with it.
    fields += [axis for axis, size in enumerate(inner, 1) if size == 1 and axis not in fields]
    reduced = [axis for axis in range(1, len(inner) + 1) if axis not in fields]
    count, _ = sizes_of(product.operands[0])
    # Loops: rows of the product, vectors of columns, lanes, and those that are summed over. IREE
    # would remove a loop over a single row, and the schedule with it.
    outer = [] if count == 1 else [count]
    first = len(outer)
    loop_of = {axis: first + 2 + position for position, axis in enumerate(reduced)}
    left = reshaped(
        "tensor.expand_shape",
        product.operands[0],
        [count, *inner],
        [[0], list(range(1, len(inner) + 1))],
    )
    body, weights, lefts = Body(_weight_at), [[] for _ in products], []
    places = list(itertools.product(*(range(inner[axis - 1]) for axis in fields)))
    for place in places:
        fixed = dict(zip(fields, place, strict=True))
        at = [
            Index((), fixed[axis]) if axis in fixed else Index.of_loop(loop_of.get(axis, -1))
            for axis in range(len(inner) + 1)
        ]
        for matrix, found in zip(matrices, weights, strict=True):
            found.append(body.element(matrix, at))
        taken = {axis: fixed[axis] for axis in fields}
        part = taken if outer else {0: 0, **taken}
        lefts.append(Slice.at(left, part).take(left) if part else left)
    if len(products) > 1:
        # A weight may be defined between the products.
        for leaf in body.leaves:
            if (weight := producer(leaf.value)) is not None:
                leaf.value = weight.clone().result
    arguments = [body.argument(ir.F32Type.get()) for _ in lefts]
    totals = [body.argument(ir.F32Type.get()) for _ in products]
    with ir.InsertionPoint(body.block):
        sums = [
            _sum_of_products(arguments, found, total)
            for found, total in zip(weights, totals, strict=True)
        ]
        ir.Operation.create("linalg.yield", [], sums)
    shape = [*outer, rows // lanes, lanes]
    inits = [_init(each.operands[2], shape) for each in products]
    inputs = [_in_lanes(leaf, lanes) for leaf in body.leaves] + lefts
    axes = [
        [first if loop == -1 else loop for loop in leaf.loops if loop is not None]
        + ([first + 1] if -1 in leaf.loops else [])
        for leaf in body.leaves
    ]
    axes += [[*range(first), *(loop_of[axis] for axis in reduced)]] * len(lefts)
    axes += [list(range(first + 2))] * len(inits)
    kinds = ["parallel"] * (first + 2) + ["reduction"] * len(reduced)
    fused = generic_without_body(inputs, inits, axes, kinds)
    body.move_to(fused)
    fused.attributes["compilation_info"] = _schedule(shape, len(reduced))
    for each, result in zip(products, fused.results, strict=True):
        result = reshaped("tensor.collapse_shape", result, [*outer, rows], _split_last(first))
        if not outer:
            result = reshaped("tensor.expand_shape", result, [1, rows], [[0, 1]])
        each.result.replace_all_uses_with(result)
    for each in products:
        each.erase()


def _init(init: ir.Value, shape: Sequence[Size]) -> ir.Value:
    """Returns the initial sums of a product in the form of `shape`, with lanes as the last axis."""
    if producer_named(init, "linalg.fill") is not None:
        return zeros(shape, ir.F32Type.get())
    if len(shape) == 2:
        init = Slice.at(init, {0: 0}).take(init)
    return reshaped("tensor.expand_shape", init, shape, _split_last(len(shape) - 2))


def _split_last(first: int) -> list[list[int]]:
    """Returns the reassociation that splits the last axis, `first`, into two."""
    return [*([axis] for axis in range(first)), [first, first + 1]]


def _sum_of_products(
    lefts: Sequence[ir.Value], weights: Sequence[ir.Value], total: ir.Value
) -> ir.Value:
    """Creates `total + (left * weight + …)`, with fused multiply-adds.

    IREE would see a contraction in a multiplication and an addition, and its code for contractions
    of a single row computes one lane after the other: 10 times as long.
    """
    kind = total.type
    products = build_op("arith.constant", kind, value=ir.FloatAttr.get(kind, 0.0))
    for left, weight in zip(lefts, weights, strict=True):
        products = build_op("math.fma", kind, left, weight, products)
    return build_op("arith.addf", kind, total, products)


def _in_lanes(leaf: Leaf, lanes: int) -> ir.Value:
    """Returns the part of a leaf that is read, with `lanes` of its rows along a last axis."""
    fixed = {axis: place.number for axis, place in enumerate(leaf.at) if place.loop is None}
    value = Slice.at(leaf.value, fixed).take(leaf.value) if fixed else leaf.value
    if -1 not in leaf.loops:
        return value
    kind = ir.RankedTensorType(value.type)
    rows, *inner = kind.shape
    array = ir.DenseI64ArrayAttr.get
    # IREE would fold a transposition into the product. It does not fold a pack.
    return build_op(
        "linalg.pack",
        ir.RankedTensorType.get([rows // lanes, *inner, lanes], kind.element_type),
        value,
        empty([rows // lanes, *inner, lanes], kind.element_type),
        inner_dims_pos=array([0]),
        outer_dims_perm=array([]),
        static_inner_tiles=array([lanes]),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, 0, 0]),
    )


def _schedule(shape: Sequence[Size], reduced: int) -> ir.Attribute:
    """Returns IREE's tile sizes: one step of the sum at a time, for a vector of lanes."""
    *outer, vectors, lanes = shape
    rows = [min(count, _ROWS) if isinstance(count, int) else _ROWS for count in outer]
    # Enough workgroups for a few threads.
    tile = max(1, min(_LARGEST_TILE, vectors // 4))
    unset, steps = [0] * reduced, [1] * reduced
    return ir.Attribute.parse(
        "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
        f"distribution = {[0] * len(outer) + [tile, 0, *unset]}, "
        f"vector_common_parallel = {[*rows, 1, lanes, *unset]}, "
        f"vector_reduction = {[0] * len(outer) + [0, 0, *steps]}>, "
        "translation_info = #iree_codegen.translation_info<"
        "pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"
    )


MULTIPLY_PACKED = Step(
    "iree-multiply-packed",
    "multiply with packed weights in vectors, without unpacking them to memory",
    multiply_packed,
)
