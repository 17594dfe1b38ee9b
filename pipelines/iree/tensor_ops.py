"""Operations of linalg and tensor, made at the insertion point of the context."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir


def transposed(value: ir.Value, order: Sequence[int]) -> ir.Value:
    """Axis `i` of the result is axis `order[i]` of `value`."""
    if list(order) == list(range(len(order))):
        return value
    permutation = {"permutation": ir.DenseI64ArrayAttr.get(list(order))}
    return copied("linalg.transpose", permuted(value.type, order), value, permutation)


def copied(
    name: str,
    kind: ir.RankedTensorType,
    source: ir.Value,
    attributes: dict[str, ir.Attribute] | None = None,
) -> ir.Value:
    """An operation that copies its operand's elements to where they belong in its result."""
    own = ir.Operation.create(name, [kind], [source, empty(kind)], attributes, regions=1)
    if name == "linalg.fill":
        own.attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 1])
    element = kind.element_type
    block = own.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", [], [block.arguments[0]])
    return own.result


def empty(kind: ir.Type) -> ir.Value:
    """A tensor of whatever elements."""
    return ir.Operation.create("tensor.empty", [kind], []).result


def permuted(kind: ir.Type, order: Sequence[int]) -> ir.RankedTensorType:
    """The type of what `transposed` gives."""
    tensor = ir.RankedTensorType(kind)
    return ir.RankedTensorType.get([tensor.shape[axis] for axis in order], tensor.element_type)


def zeros(kind: ir.RankedTensorType) -> ir.Value:
    """A tensor of floats that are 0."""
    attribute = {"value": ir.FloatAttr.get(kind.element_type, 0.0)}
    zero = ir.Operation.create("arith.constant", [kind.element_type], [], attribute).result
    return copied("linalg.fill", kind, zero)


def reshaped(
    name: str, value: ir.Value, sizes: Sequence[int], groups: Sequence[Sequence[int]]
) -> ir.Value:
    """`tensor.expand_shape` or `tensor.collapse_shape`.

    Args:
        sizes: of the result.
        groups: the axes of the side that has more, for each of the other's.
    """
    kind = ir.RankedTensorType.get(list(sizes), ir.RankedTensorType(value.type).element_type)
    axis = ir.IntegerType.get_signless(64)
    attributes = {
        "reassociation": ir.ArrayAttr.get(
            [
                ir.ArrayAttr.get([ir.IntegerAttr.get(axis, each) for each in group])
                for group in groups
            ]
        )
    }
    if name == "tensor.expand_shape":
        attributes["static_output_shape"] = ir.DenseI64ArrayAttr.get(list(sizes))
    return ir.Operation.create(name, [kind], [value], attributes).result


def sliced(value: ir.Value, sizes: Sequence[int], strides: Sequence[int]) -> ir.Value:
    """`tensor.extract_slice` from the first element on; `value` itself where that is all of it."""
    tensor = ir.RankedTensorType(value.type)
    if list(sizes) == list(tensor.shape):
        return value
    array = ir.DenseI64ArrayAttr.get
    return ir.Operation.create(
        "tensor.extract_slice",
        [ir.RankedTensorType.get(list(sizes), tensor.element_type)],
        [value],
        {
            "static_offsets": array([0] * tensor.rank),
            "static_sizes": array(list(sizes)),
            "static_strides": array(list(strides)),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
        },
    ).result


def elementwise(
    kind: ir.RankedTensorType,
    inputs: Sequence[tuple[ir.Value, Sequence[ir.AffineExpr]]],
    body: Callable[..., ir.Value],
) -> ir.Value:
    """A `linalg.generic` with a loop for each axis of its result.

    Args:
        inputs: tensors, each with the index of its element by the loops.
        body: gets an element of each, and gives that of the result.
    """
    loops = [ir.AffineDimExpr.get(axis) for axis in range(kind.rank)]
    maps = [ir.AffineMap.get(kind.rank, 0, list(index)) for _, index in [*inputs, (None, loops)]]
    own = ir.Operation.create(
        "linalg.generic",
        [kind],
        [*(value for value, _ in inputs), empty(kind)],
        {
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps]),
            "iterator_types": ir.ArrayAttr.get(
                [ir.Attribute.parse("#linalg.iterator_type<parallel>")] * kind.rank
            ),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), 1]),
        },
        regions=1,
    )
    elements = [ir.RankedTensorType(value.type).element_type for value, _ in inputs]
    block = own.regions[0].blocks.append(*elements, kind.element_type)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", [], [body(*list(block.arguments)[:-1])])
    return own.result
