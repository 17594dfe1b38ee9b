"""Operations of linalg and tensor, made at the insertion point of the context.

A size is an int, or a value of type `index` where it is known only when the program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from torch_mlir import ir

Size = int | ir.Value

_DYNAMIC = ir.ShapedType.get_dynamic_size()


def sizes_of(value: ir.Value) -> list[Size]:
    """The sizes of a tensor."""
    kind = ir.RankedTensorType(value.type)
    return [
        _size_along(value, axis) if size == _DYNAMIC else size
        for axis, size in enumerate(kind.shape)
    ]


def product_of(sizes: Sequence[Size]) -> Size:
    """The size of an axis that axes of these sizes are joined to."""
    total: Size = prod(size for size in sizes if isinstance(size, int))
    for size in _dynamic(sizes):
        factor = total if isinstance(total, ir.Value) else _index(total)
        total = ir.Operation.create("arith.muli", [size.type], [factor, size]).result
    return total


def permuted(kind: ir.Type, order: Sequence[int]) -> ir.RankedTensorType:
    """The type of what `transposed` gives."""
    tensor = ir.RankedTensorType(kind)
    return ir.RankedTensorType.get([tensor.shape[axis] for axis in order], tensor.element_type)


def transposed(value: ir.Value, order: Sequence[int]) -> ir.Value:
    """Axis `i` of the result is axis `order[i]` of `value`."""
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
    """An operation that copies elements of a tensor, or a number, to where they belong.

    Args:
        sizes: of the result.
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
    """A tensor of whatever elements."""
    return ir.Operation.create("tensor.empty", [_tensor(sizes, element)], _dynamic(sizes)).result


def zeros(sizes: Sequence[Size], element: ir.Type) -> ir.Value:
    """A tensor of floats that are 0."""
    attribute = {"value": ir.FloatAttr.get(element, 0.0)}
    zero = ir.Operation.create("arith.constant", [element], [], attribute).result
    return copied("linalg.fill", sizes, zero)


def reshaped(
    name: str, value: ir.Value, sizes: Sequence[Size], groups: Sequence[Sequence[int]]
) -> ir.Value:
    """`tensor.expand_shape` or `tensor.collapse_shape`.

    Args:
        sizes: of the result.
        groups: the axes of the side that has more, for each of the other's.
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
        operands += _dynamic(sizes)
    kind = _tensor(sizes, ir.RankedTensorType(value.type).element_type)
    return ir.Operation.create(name, [kind], operands, attributes).result


def sliced(value: ir.Value, sizes: Sequence[Size], strides: Sequence[int]) -> ir.Value:
    """`tensor.extract_slice` from the first element on.

    `value` itself where that is all of it. An axis whose size is not known is taken whole.
    """
    tensor = ir.RankedTensorType(value.type)
    if _static(sizes) == list(tensor.shape):
        return value
    array = ir.DenseI64ArrayAttr.get
    dynamic = _dynamic(sizes)
    return ir.Operation.create(
        "tensor.extract_slice",
        [_tensor(sizes, tensor.element_type)],
        [value, *dynamic],
        {
            "static_offsets": array([0] * tensor.rank),
            "static_sizes": array(_static(sizes)),
            "static_strides": array(list(strides)),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, len(dynamic), 0]),
        },
    ).result


def elementwise(
    sizes: Sequence[Size],
    inputs: Sequence[tuple[ir.Value, Sequence[ir.AffineExpr]]],
    body: Callable[..., ir.Value],
) -> ir.Value:
    """A `linalg.generic` with a loop for each axis of its result.

    Args:
        sizes: of the result, whose elements are of the first input's type.
        inputs: tensors, each with the index of its element by the loops.
        body: gets an element of each, and gives that of the result.
    """
    rank = len(sizes)
    loops = [ir.AffineDimExpr.get(axis) for axis in range(rank)]
    maps = [ir.AffineMap.get(rank, 0, list(index)) for _, index in [*inputs, (None, loops)]]
    elements = [ir.RankedTensorType(value.type).element_type for value, _ in inputs]
    init = empty(sizes, elements[0])
    own = ir.Operation.create(
        "linalg.generic",
        [init.type],
        [*(value for value, _ in inputs), init],
        {
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps]),
            "iterator_types": ir.ArrayAttr.get(
                [ir.Attribute.parse("#linalg.iterator_type<parallel>")] * rank
            ),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), 1]),
        },
        regions=1,
    )
    block = own.regions[0].blocks.append(*elements, elements[0])
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", [], [body(*list(block.arguments)[:-1])])
    return own.result


def _tensor(sizes: Sequence[Size], element: ir.Type) -> ir.RankedTensorType:
    return ir.RankedTensorType.get(_static(sizes), element)


def _static(sizes: Sequence[Size]) -> list[int]:
    return [size if isinstance(size, int) else _DYNAMIC for size in sizes]


def _dynamic(sizes: Sequence[Size]) -> list[ir.Value]:
    return [size for size in sizes if not isinstance(size, int)]


def _size_along(value: ir.Value, axis: int) -> ir.Value:
    return ir.Operation.create("tensor.dim", [ir.IndexType.get()], [value, _index(axis)]).result


def _index(number: int) -> ir.Value:
    index = ir.IndexType.get()
    value = {"value": ir.IntegerAttr.get(index, number)}
    return ir.Operation.create("arith.constant", [index], [], value).result
