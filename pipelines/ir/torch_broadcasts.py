"""Creates operators of the torch dialect whose result types follow from their operands."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_expressions import cast
from pipelines.ir.torch_operations import element_of, integer_constant, sizes_of, tensor_type


def elementwise(name: str, *operands: ir.Value, element: str | None = None) -> ir.Value:
    """Creates an elementwise operator, with the broadcast sizes of its operands.

    Args:
        name: such as `maximum`, `eq.Tensor` or `where.self`.
        element: the element type of the result; None: that of the last operand.
    """
    sizes = _broadcast([sizes_of(each.type) for each in operands])
    scale = [integer_constant(1)] if name.startswith(("add.", "sub.")) else []
    kind = tensor_type(sizes, element or element_of(operands[-1].type))
    return build_op(f"torch.aten.{name}", kind, *operands, *scale)


def truth(name: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """Creates a comparison or a logical operator, such as `lt.Tensor` or `logical_and`."""
    return elementwise(name, x, y, element="i1")


def unsqueeze(x: ir.Value, axis: int) -> ir.Value:
    """Adds an axis of size 1."""
    sizes = sizes_of(x.type)
    sizes.insert(axis, 1)
    return build_op("torch.aten.unsqueeze", tensor_type(sizes, x.type), x, integer_constant(axis))


def reshape(x: ir.Value, sizes: Sequence[int | None]) -> ir.Value:
    """Creates a view. At most one of its sizes is dynamic, None."""
    numbers = [integer_constant(-1 if size is None else size) for size in sizes]
    shape = build_op("torch.prim.ListConstruct", "!torch.list<int>", *numbers)
    return build_op("torch.aten.view", tensor_type(sizes, x.type), x, shape)


def expand(x: ir.Value, sizes: Sequence[int | None]) -> ir.Value:
    """Broadcasts a tensor. Axes for which `sizes` has None keep their dynamic size."""
    if sizes_of(x.type) == list(sizes):
        return x
    numbers = [integer_constant(-1 if size is None else size) for size in sizes]
    shape = build_op("torch.prim.ListConstruct", "!torch.list<int>", *numbers)
    return build_op("torch.aten.broadcast_to", tensor_type(sizes, x.type), x, shape)


def transpose(x: ir.Value, axis: int, other: int) -> ir.Value:
    """Swaps two axes."""
    sizes = sizes_of(x.type)
    sizes[axis], sizes[other] = sizes[other], sizes[axis]
    axes = map(integer_constant, (axis, other))
    return build_op("torch.aten.transpose.int", tensor_type(sizes, x.type), x, *axes)


def slice_axis(x: ir.Value, axis: int, start: int, end: int) -> ir.Value:
    """Returns the elements from `start` up to `end` along an axis."""
    sizes = sizes_of(x.type)
    sizes[axis] = end - start
    bounds = map(integer_constant, (axis, start, end, 1))
    return build_op("torch.aten.slice.Tensor", tensor_type(sizes, x.type), x, *bounds)


def permute(x: ir.Value, order: Sequence[int]) -> ir.Value:
    """Reorders the axes."""
    axes = build_op("torch.prim.ListConstruct", "!torch.list<int>", *map(integer_constant, order))
    kind = tensor_type([sizes_of(x.type)[axis] for axis in order], x.type)
    return build_op("torch.aten.permute", kind, x, axes)


def reduced(name: str, x: ir.Value, axis: int) -> ir.Value:
    """Reduces an axis, without keeping it. The result has the element type of `x`.

    Args:
        name: `sum`, `prod`, `max` or `min`. Sums and products of integers are computed in i64.
    """
    sizes = sizes_of(x.type)
    del sizes[axis]
    false = build_op("torch.constant.bool", "!torch.bool", value=ir.BoolAttr.get(False))
    none = build_op("torch.constant.none", "!torch.none")
    number, element = integer_constant(axis), element_of(x.type)
    if name in ("max", "min"):
        kinds = [ir.Type.parse(tensor_type(sizes, each)) for each in (element, "si64")]
        operation = ir.Operation.create(f"torch.aten.{name}.dim", kinds, [x, number, false])
        return operation.results[0]
    wide = cast(x, "si64") if element.startswith("si") and element != "si64" else x
    if name == "sum":
        axes = build_op("torch.prim.ListConstruct", "!torch.list<int>", number)
        operator, operands = "sum.dim_IntList", (axes, false, none)
    else:
        operator, operands = "prod.dim_int", (number, false, none)
    result = build_op(f"torch.aten.{operator}", tensor_type(sizes, wide.type), wide, *operands)
    return result if wide == x else cast(result, element)


def places(count: int, rank: int, axis: int) -> ir.Value:
    """Creates the numbers from 0 to `count` - 1 along an axis. The other axes have size 1."""
    number = ir.IntegerType.get_signed(64)
    sizes = [1] * rank
    sizes[axis] = count
    kind = ir.RankedTensorType.get(sizes, number)
    numbers = [ir.IntegerAttr.get(number, value) for value in range(count)]
    shape = ",".join(map(str, sizes))
    values = ir.DenseElementsAttr.get(numbers, type=kind)
    return build_op("torch.vtensor.literal", f"!torch.vtensor<[{shape}],si64>", value=values)


def places_along(x: ir.Value, axis: int, rank: int, at: int) -> ir.Value:
    """Creates the places along an axis of `x`, along axis `at` of a tensor of this rank."""
    size = sizes_of(x.type)[axis]
    if size is not None:
        return places(size, rank, at)
    none = build_op("torch.constant.none", "!torch.none")
    end = build_op("torch.aten.size.int", "!torch.int", x, integer_constant(axis))
    bounds = (integer_constant(0), end, integer_constant(1))
    kind = "!torch.vtensor<[?],si64>"
    numbers = build_op("torch.aten.arange.start_step", kind, *bounds, *[none] * 4)
    for other in range(rank):
        if other != at:
            numbers = unsqueeze(numbers, other)
    return numbers


def _broadcast(shapes: Sequence[Sequence[int | None]]) -> list[int | None]:
    """Returns the sizes of the result. A dynamic size is taken to be no 1."""
    rank = max(map(len, shapes))
    padded = [[1] * (rank - len(shape)) + list(shape) for shape in shapes]
    sizes: list[int | None] = []
    for own in zip(*padded, strict=True):
        large = [size for size in own if size not in (1, None)]
        sizes.append(large[0] if large else None if None in own else 1)
    return sizes
