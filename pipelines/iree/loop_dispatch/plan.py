"""Recognizes loops over small steps, which fit into one dispatch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pipelines.ir.bodies import Body
from pipelines.ir.loops import sliced_axes
from pipelines.ir.scalars import Index, is_elementwise
from pipelines.ir.tensor_ops import RESHAPES, is_of_zeros
from pipelines.ir.values import block_of, constant_integer, producer, producer_named, terminator
from pipelines.iree.loop_dispatch.ranges import Ranges, ranges_of

# The operations of a step, besides one matrix product and elementwise operations.
_SIMPLE = (
    "arith.",
    "cf.assert",
    "linalg.fill",
    "scf.yield",
    "tensor.collapse_shape",
    "tensor.dim",
    "tensor.empty",
    "tensor.expand_shape",
    "tensor.extract_slice",
    "tensor.insert_slice",
)
_PRODUCT = "linalg.matmul"
_VIEWS = (*RESHAPES, "tensor.extract_slice")
# With more multiplications in a step, several threads are worth their dispatches.
_MOST_MULTIPLICATIONS = 1 << 20
# The kernel keeps temporaries on the stack. IREE limits the stack of a kernel to 32 KiB.
_LARGEST_STACK = 24 << 10
# The maximum number of operations of a step, before and after shared elementwise operations are
# repeated for each use.
_LONGEST_STEP, _MOST_REPEATED = 200, 1000


@dataclass
class Plan:
    """Describes a loop that fits into one dispatch.

    Attributes:
        product: the matrix product of a step.
        ranges: the conditions under which its slices are in range.
        collected: the positions of carried tensors to which each step adds one row. The others are
            the state.
        roots: the results of elementwise operations that a step keeps, all of the same type.
    """

    product: ir.Operation
    ranges: Ranges
    collected: list[int] = field(default_factory=list)
    roots: list[ir.Value] = field(default_factory=list)


def plan_for(loop: ir.Operation) -> Plan | None:
    """Returns the plan for a loop, or None if it does not fit into one dispatch."""
    if loop.name != "scf.for" or loop.parent.name != "func.func":
        return None
    if constant_integer(loop.operands[0]) != 0 or constant_integer(loop.operands[2]) != 1:
        return None
    if not all(_is_float_tensor(result.type) for result in loop.results):
        return None
    block = loop.regions[0].blocks[0]
    body = [each.operation for each in block.operations]
    products = [each for each in body if each.name == _PRODUCT]
    others = (each for each in body if each.name != _PRODUCT)
    if len(products) != 1 or len(body) > _LONGEST_STEP:
        return None
    if not all(is_elementwise(each) or each.name.startswith(_SIMPLE) for each in others):
        return None
    ranges = ranges_of(loop)
    if ranges is None:
        return None
    plan = Plan(*products, ranges)
    if not (
        _take_results(plan, block, loop) and _is_product_of_state(plan, block) and _is_small(plan)
    ):
        return None
    known: dict[ir.Value, int] = {}
    if sum(_count(root, known) for root in plan.roots) > _MOST_REPEATED:
        return None
    with ir.InsertionPoint(terminator(block)), loop.location:
        body = body_of(plan.roots)
        if body is not None:
            body.drop()
    return None if body is None else plan


def _is_float_tensor(kind: ir.Type) -> bool:
    return isinstance(kind, ir.RankedTensorType) and isinstance(
        kind.element_type, ir.F32Type | ir.F64Type
    )


def _take_results(plan: Plan, block: ir.Block, loop: ir.Operation) -> bool:
    """Adds collected tensors and roots to the plan. Returns False for other results of a step."""
    for number, result in enumerate(terminator(block).operands):
        argument, init = block.arguments[number + 1], loop.operands[number + 3]
        kept, insertion = result, producer_named(result, "tensor.insert_slice")
        if insertion is not None:
            if not (
                insertion.operands[1] == argument and _fills(insertion, init, loop.operands[1])
            ):
                return False
            plan.collected.append(number)
            kept = insertion.operands[0]
        elif not ir.RankedTensorType(argument.type).has_static_shape:
            return False
        kept = unshaped(kept)
        if not is_elementwise(producer(kept)):
            return False
        if kept not in plan.roots:
            plan.roots.append(kept)
    return len({str(root.type) for root in plan.roots}) == 1


def _fills(insertion: ir.Operation, init: ir.Value, end: ir.Value) -> bool:
    """Returns whether `end` steps insert all rows of a tensor, and no step reads it."""
    uses = [use.owner.operation.name for use in insertion.operands[1].uses]
    rows, *row = ir.RankedTensorType(init.type).shape
    if rows == ir.ShapedType.get_dynamic_size():
        begin = producer(init)
        if begin is not None and begin.name.startswith("linalg."):
            begin = producer(begin.operands[len(begin.operands) - 1])
        is_whole = begin is not None and begin.name == "tensor.empty" and begin.operands[0] == end
    else:
        is_whole = rows == constant_integer(end)
    return (
        is_whole
        and bool(list(insertion.operands)[2:])
        and list(insertion.attributes["static_sizes"])[1:] == row
        and all(name in ("tensor.insert_slice", "tensor.dim") for name in uses)
    )


def unshaped(value: ir.Value) -> ir.Value:
    """Returns the tensor before reshapes that only add or remove axes of size 1."""
    while (reshape := producer_named(value, *RESHAPES)) is not None:
        source = reshape.operands[0]
        shapes = (ir.RankedTensorType(each.type).shape for each in (value, source))
        before, after = ([size for size in shape if size != 1] for shape in shapes)
        if before != after:
            break
        value = source
    return value


def _is_product_of_state(plan: Plan, block: ir.Block) -> bool:
    """Returns whether the product multiplies the state and a constant matrix, and adds nothing."""
    left, right, init = plan.product.operands
    kinds = {str(ir.RankedTensorType(each.type).element_type) for each in (left, right, init)}
    if len(kinds) > 1:
        return False
    is_carried = producer(left) is None and left.owner == block
    is_state = is_carried and ir.BlockArgument(left).arg_number - 1 not in plan.collected
    return is_of_zeros(init) and is_state and block_of(right) != block


def _is_small(plan: Plan) -> bool:
    """Returns whether a step is small enough for one thread and its temporaries for the stack."""
    left, _, result = (ir.RankedTensorType(each.type) for each in plan.product.operands)
    kept = [ir.RankedTensorType(root.type) for root in plan.roots]
    if not all(kind.has_static_shape for kind in (left, result, *kept)) or left.shape[1] == 1:
        return False
    multiplications = math.prod(result.shape) * left.shape[1]
    # Each root is a temporary, and maybe a state.
    stack = sum(math.prod(kind.shape) * bytes_of(kind) for kind in (result, *kept, *kept, *kept))
    return multiplications <= _MOST_MULTIPLICATIONS and stack <= _LARGEST_STACK


def bytes_of(kind: ir.RankedTensorType) -> int:
    """Returns the size of an element."""
    return kind.element_type.width // 8


def body_of(roots: Sequence[ir.Value]) -> Body | None:
    """Creates the body that computes one element of each root, without arguments for the results.

    Returns None if it would not read slices of tensors.
    """
    body = Body(_source)
    shape = ir.RankedTensorType(roots[0].type).shape
    loops = itertools.count()
    at = [Index() if size == 1 else Index.of_loop(next(loops)) for size in shape]
    elements = [body.element(root, at) for root in roots]
    if any(each is None for each in elements):
        body.drop()
        return None
    with ir.InsertionPoint(body.block):
        ir.Operation.create("linalg.yield", [], elements)
    return body


def _source(value: ir.Value, at: tuple[Index, ...]) -> tuple[ir.Value, tuple[Index, ...]] | None:
    """Returns the operand of a static slice or of a reshape that removes axes of size 1.

    Returns other tensors themselves; None if an index adds several loops, or multiplies one.
    """
    if any(place.loops[1:] or (place.loops and place.loops[0][1] != 1) for place in at):
        return None
    view = producer(value)
    if view is None:
        return value, at
    if view.name == "tensor.extract_slice" and len(view.operands) == 1:
        if set(view.attributes["static_strides"]) != {1}:
            return value, at
        places = [Index((), offset) for offset in view.attributes["static_offsets"]]
        for place, axis in zip(at, sliced_axes(view), strict=True):
            places[axis] = places[axis].plus(place, 1)
        return view.operands[0], tuple(places)
    if view.name == "tensor.collapse_shape":
        source = view.operands[0]
        shape = ir.RankedTensorType(source.type).shape
        places = [Index()] * len(shape)
        for place, group in zip(at, view.attributes["reassociation"], strict=True):
            axes = [ir.IntegerAttr(axis).value for axis in group]
            others = [axis for axis in axes if shape[axis] != 1]
            if len(others) > 1:
                return value, at
            places[others[0] if others else axes[0]] = place
        return source, tuple(places)
    return value, at


def _count(value: ir.Value, known: dict[ir.Value, int]) -> int:
    """Returns the number of operations that compute an element, if none is shared."""
    operation = producer(value)
    if operation is None or not (is_elementwise(operation) or operation.name in _VIEWS):
        return 0
    if value not in known:
        inputs = sum(_count(operand, known) for operand in operation.operands)
        bodies = (block for region in operation.regions for block in region.blocks)
        known[value] = inputs + sum(len(list(block.operations)) for block in bodies)
    return known[value]
