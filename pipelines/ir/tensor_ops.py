"""Creates operations of linalg and tensor at the context's insertion point.

A size is an int, or a value of type `index` if it is dynamic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from torch_mlir import ir

from pipelines.ir.generics import generic
from pipelines.ir.loops import Size, index, size
from pipelines.ir.values import producer_named

# Operations that change the shape of a tensor, and keep its elements in row-major order.
RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")
_DYNAMIC = ir.ShapedType.get_dynamic_size()


def sizes_of(value: ir.Value) -> list[Size]:
    """Returns the sizes of a tensor."""
    return [size(value, axis) for axis in range(ir.RankedTensorType(value.type).rank)]


def dynamic_sizes(sizes: Sequence[Size]) -> list[ir.Value]:
    """Returns the sizes that are not static."""
    return [size for size in sizes if not isinstance(size, int)]


def product_of(sizes: Sequence[Size]) -> Size:
    """Returns the product of sizes: the size of the axis that they collapse to."""
    total: Size = prod(each for each in sizes if isinstance(each, int))
    for each in dynamic_sizes(sizes):
        total = ir.Operation.create("arith.muli", [each.type], [index(total), each]).result
    return total


def permuted(kind: ir.Type, order: Sequence[int]) -> ir.RankedTensorType:
    """Returns the type of the result of `transposed`."""
    tensor = ir.RankedTensorType(kind)
    return ir.RankedTensorType.get([tensor.shape[axis] for axis in order], tensor.element_type)


def transposed(value: ir.Value, order: Sequence[int]) -> ir.Value:
    """Transposes a tensor: axis `i` of the result is axis `order[i]` of `value`."""
    if list(order) == list(range(len(order))):
        return value
    sizes = sizes_of(value)
    permutation = {"permutation": ir.DenseI64ArrayAttr.get(list(order))}
    return copied("linalg.transpose", [sizes[axis] for axis in order], value, permutation)


def copied(
    name: str,
    sizes: Sequence[Size],
    source: ir.Value,
    attributes: dict[str, ir.Attribute] | None = None,
) -> ir.Value:
    """Creates a linalg operation that copies elements, such as `linalg.broadcast`.

    Args:
        sizes: the sizes of the result.
        source: a tensor, or a number for `linalg.fill`.
    """
    is_tensor = isinstance(source.type, ir.RankedTensorType)
    element = ir.RankedTensorType(source.type).element_type if is_tensor else source.type
    init = empty(sizes, element)
    own = ir.Operation.create(name, [init.type], [source, init], attributes, regions=1)
    if name == "linalg.fill":
        own.attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 1])
    block = own.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", [], [block.arguments[0]])
    return own.result


def empty(sizes: Sequence[Size], element: ir.Type) -> ir.Value:
    """Creates an uninitialized tensor."""
    return ir.Operation.create(
        "tensor.empty", [tensor_type(sizes, element)], dynamic_sizes(sizes)
    ).result


def empty_like(x: ir.Value, element: ir.Type) -> ir.Value:
    """Creates an uninitialized tensor with the sizes of `x`."""
    return empty(sizes_of(x), element)


def zeros(sizes: Sequence[Size], element: ir.Type) -> ir.Value:
    """Creates a tensor of zeros: floats or integers."""
    is_integer = isinstance(element, ir.IntegerType)
    value = ir.IntegerAttr.get(element, 0) if is_integer else ir.FloatAttr.get(element, 0.0)
    zero = ir.Operation.create("arith.constant", [element], [], {"value": value}).result
    return copied("linalg.fill", sizes, zero)


def is_of_zeros(tensor: ir.Value) -> bool:
    """Returns whether a tensor is filled with the constant 0, a float or an integer."""
    fill = producer_named(tensor, "linalg.fill")
    constant = None if fill is None else producer_named(fill.operands[0], "arith.constant")
    if constant is None:
        return False
    value = constant.attributes["value"]
    return isinstance(value, ir.FloatAttr | ir.IntegerAttr) and value.value == 0


def reshaped(
    name: str, value: ir.Value, sizes: Sequence[Size], groups: Sequence[Sequence[int]]
) -> ir.Value:
    """Creates `tensor.expand_shape` or `tensor.collapse_shape`.

    Args:
        sizes: the sizes of the result.
        groups: for each axis of the collapsed side, its axes on the expanded side.
    """
    axis = ir.IntegerType.get_signless(64)
    attributes = {
        "reassociation": ir.ArrayAttr.get(
            [
                ir.ArrayAttr.get([ir.IntegerAttr.get(axis, each) for each in group])
                for group in groups
            ]
        )
    }
    operands = [value]
    if name == "tensor.expand_shape":
        attributes["static_output_shape"] = ir.DenseI64ArrayAttr.get(_static(sizes))
        operands += dynamic_sizes(sizes)
    kind = tensor_type(sizes, ir.RankedTensorType(value.type).element_type)
    return ir.Operation.create(name, [kind], operands, attributes).result


def sliced(value: ir.Value, sizes: Sequence[Size], strides: Sequence[int]) -> ir.Value:
    """Creates a `tensor.extract_slice` that starts at the first element.

    Returns `value` itself if all sizes are the same. A dynamic size means the whole axis.
    """
    tensor = ir.RankedTensorType(value.type)
    if _static(sizes) == list(tensor.shape):
        return value
    array = ir.DenseI64ArrayAttr.get
    dynamic = dynamic_sizes(sizes)
    return ir.Operation.create(
        "tensor.extract_slice",
        [tensor_type(sizes, tensor.element_type)],
        [value, *dynamic],
        {
            "static_offsets": array([0] * tensor.rank),
            "static_sizes": array(_static(sizes)),
            "static_strides": array(list(strides)),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, len(dynamic), 0]),
        },
    ).result


def padded(value: ir.Value, low: Sequence[int], high: Sequence[Size], number: ir.Value) -> ir.Value:
    """Creates a `tensor.pad` that pads with a number.

    Args:
        low, high: the numbers of elements before and after each axis.
    """
    tensor = ir.RankedTensorType(value.type)
    shape = [
        ir.ShapedType.get_dynamic_size()
        if tensor.is_dynamic_dim(axis) or isinstance(after, ir.Value)
        else tensor.shape[axis] + before + after
        for axis, (before, after) in enumerate(zip(low, high, strict=True))
    ]
    array = ir.DenseI64ArrayAttr.get
    dynamic = dynamic_sizes(high)
    own = ir.Operation.create(
        "tensor.pad",
        [ir.RankedTensorType.get(shape, tensor.element_type)],
        [value, *dynamic],
        {
            "static_low": array(list(low)),
            "static_high": array(_static(high)),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, len(dynamic)]),
        },
        regions=1,
    )
    block = own.regions[0].blocks.append(*[ir.IndexType.get()] * tensor.rank)
    with ir.InsertionPoint(block):
        ir.Operation.create("tensor.yield", [], [number])
    return own.result


def elementwise(
    sizes: Sequence[Size],
    inputs: Sequence[tuple[ir.Value, Sequence[ir.AffineExpr]]],
    body: Callable[..., ir.Value],
) -> ir.Value:
    """Creates a `linalg.generic` with one parallel loop for each axis of its result.

    Args:
        sizes: the sizes of the result. Its element type is that of the first input.
        inputs: tensors, each with the results of its indexing map.
        body: takes an element of each input and returns the element of the result.
    """
    values, axes = [value for value, _ in inputs], [list(index) for _, index in inputs]
    init = empty(sizes, ir.RankedTensorType(values[0].type).element_type)
    loops = list(range(len(sizes)))
    return generic(
        values,
        [init],
        [*axes, loops],
        ["parallel"] * len(sizes),
        lambda *elements: [body(*elements[:-1])],
    )[0]


def tensor_type(sizes: Sequence[Size], element: ir.Type) -> ir.RankedTensorType:
    """Returns the type of a tensor of these sizes."""
    return ir.RankedTensorType.get(_static(sizes), element)


def _static(sizes: Sequence[Size]) -> list[int]:
    return [size if isinstance(size, int) else _DYNAMIC for size in sizes]
