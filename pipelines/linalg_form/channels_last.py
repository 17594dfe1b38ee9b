"""Converts images to NHWC (channels last): convolutions, poolings, and the operations between them.

PyTorch's convolutions are NCHW. Each 4-D result of a convolution or pooling is computed in NHWC,
and so are the values computed from it, as far as possible. Values that other operations use are
transposed back.
"""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir.generics import generic_without_body
from pipelines.ir.tensor_ops import Size, copied, empty, padded, permuted, sizes_of, transposed
from pipelines.ir.values import producer
from pipelines.pipeline import Pipeline, Step

# Permutations from NCHW to NHWC and back: axis `i` of the result is axis `order[i]` of the source.
TO_NHWC, _BACK = (0, 2, 3, 1), (0, 3, 1, 2)
# Operations on NCHW images: the same operation on NHWC, and the permutation of its second operand.
_NAMED = {
    "linalg.conv_2d_nchw_fchw": ("linalg.conv_2d_nhwc_hwcf", (2, 3, 1, 0)),
    "linalg.conv_2d_nchw_fchw_q": ("linalg.conv_2d_nhwc_hwcf_q", (2, 3, 1, 0)),
    "linalg.depthwise_conv_2d_nchw_chw": ("linalg.depthwise_conv_2d_nhwc_hwc", (1, 2, 0)),
    "linalg.pooling_nchw_max": ("linalg.pooling_nhwc_max", (0, 1)),
    "linalg.pooling_nchw_sum": ("linalg.pooling_nhwc_sum", (0, 1)),
}


def to_channels_last(module: ir.Module) -> None:
    """Rewrites the functions of a module at `linalg` in place.

    The number of images may be dynamic. Values with other dynamic sizes stay NCHW.
    """
    rewrite_functions(module, ChannelsLast)


def rewrite_functions(module: ir.Module, rewriter: Callable[[], ChannelsLast]) -> None:
    """Rewrites each function of a module in place with a new rewriter."""
    with module.context:
        for function in module.body.operations:
            if function.operation.name == "func.func" and not function.is_external:
                rewriter().rewrite(function.entry_block)


class ChannelsLast:
    """Rewrites one function to NHWC."""

    def __init__(self) -> None:
        # The NHWC form of each value, and the operations to erase at the end.
        self.last: dict[ir.Value, ir.Value] = {}
        self.replaced: list[ir.Operation] = []

    def rewrite(self, block: ir.Block) -> None:
        """Rewrites the operations of a block in place, in order."""
        for view in list(block.operations):
            operation = view.operation
            rewriting = self.rewriting(operation)
            if rewriting is None:
                continue
            with ir.InsertionPoint(operation), operation.location:
                rewriting(operation)
        self._transpose_back()

    def rewriting(self, operation: ir.Operation) -> Callable[[ir.Operation], None] | None:
        """Returns the method that rewrites an operation; None if the operation stays as it is."""
        name = operation.name
        if not _is_of_images(operation):
            return None
        if name in _NAMED:
            return self.named
        if name == "linalg.transpose":
            return self._transpose
        if not any(operand in self.last for operand in operation.operands):
            return None
        if name == "linalg.generic":
            return self._generic if _can_be_permuted(operation) else None
        if name == "tensor.pad":
            return self._pad if padding_value(operation) else None
        if name in ("tensor.extract_slice", "tensor.insert_slice"):
            return self._slice
        return self._concat if name == "tensor.concat" else None

    def _transpose_back(self) -> None:
        """Transposes values that are still used as NCHW, and erases the replaced operations."""
        # Compare results: Python wrappers of an operation are not unique.
        gone = {result for operation in self.replaced for result in operation.results}
        # Last to first, because the transposition back of one value may use an earlier value.
        for value, last in reversed(self.last.items()):
            users = [use.owner.operation for use in value.uses]
            if all(user.results and user.results[0] in gone for user in users):
                continue
            with ir.InsertionPoint(value.owner), value.owner.location:
                value.replace_all_uses_with(transposed(last, _BACK))
        for operation in reversed(self.replaced):
            operation.erase()

    def put(self, operation: ir.Operation, *values: ir.Value) -> None:
        """Stores the NHWC form of an operation's results, and erases the operation at the end."""
        self.last.update(zip(operation.results, values, strict=True))
        self.replaced.append(operation)

    def of(self, value: ir.Value) -> ir.Value:
        """Returns the NHWC form of a 4-D value, created at the insertion point if needed."""
        if value in self.last:
            return self.last[value]
        made = producer(value)
        if made is None:
            return transposed(value, TO_NHWC)
        if made.name == "tensor.empty":
            return empty(_sizes_of(value), ir.RankedTensorType(value.type).element_type)
        if made.name == "linalg.fill":
            return copied("linalg.fill", _sizes_of(value), made.operands[0])
        if made.name == "tensor.pad" and padding_value(made) and _is_of_images(made):
            # A transposition after the padding would end up in the loops of the convolution.
            return self._padded(made)
        if made.name == "linalg.broadcast":
            added = list(ir.DenseI64ArrayAttr(made.attributes["dimensions"]))
            if len(added) == 3:
                axes = [axis for axis in range(4) if TO_NHWC[axis] in added]
                dimensions = {"dimensions": ir.DenseI64ArrayAttr.get(axes)}
                return copied("linalg.broadcast", _sizes_of(value), made.operands[0], dimensions)
        return transposed(value, TO_NHWC)

    def named(self, operation: ir.Operation) -> None:
        """Rewrites a convolution or a pooling."""
        name, order = _NAMED[operation.name]
        # Convolutions of integers have two zero points.
        image, second, *points, init = operation.operands
        image, init = self.of(image), self.of(init)
        image, strides = self.strided(operation, image, init)
        attributes = ("dilations", "operandSegmentSizes")
        own = ir.Operation.create(
            name,
            [init.type],
            [image, self.reordered(second, order), *points, init],
            {**{each: operation.attributes[each] for each in attributes}, "strides": strides},
            regions=1,
        )
        operation.regions[0].blocks[0].append_to(own.regions[0])
        self.put(operation, own.results[0])

    def reordered(self, second: ir.Value, order: tuple[int, ...]) -> ir.Value:
        """Returns the second operand of a convolution or pooling with its axes in another order."""
        return transposed(second, order)

    def strided(
        self, operation: ir.Operation, image: ir.Value, _init: ir.Value
    ) -> tuple[ir.Value, ir.Attribute]:
        """Returns the NHWC image that a convolution or pooling reads, and its strides."""
        return image, operation.attributes["strides"]

    def _transpose(self, operation: ir.Operation) -> None:
        """Removes the model's own transpositions from NHWC or to NHWC."""
        order = tuple(ir.DenseI64ArrayAttr(operation.attributes["permutation"]))
        source, _ = operation.operands
        if order == _BACK:
            self.put(operation, source)
        elif order == TO_NHWC and source in self.last:
            operation.results[0].replace_all_uses_with(self.last[source])
            self.replaced.append(operation)

    def _generic(self, operation: ir.Operation) -> None:
        maps = [each.value for each in array(operation.attributes["indexing_maps"])]
        # Maps the loops of NHWC to those of NCHW.
        loops = ir.AffineMap.get(4, 0, [ir.AffineDimExpr.get(axis) for axis in _BACK])
        operands, axes = [], []
        inputs = len(operation.operands) - len(operation.results)
        for index, (operand, own_map) in enumerate(zip(operation.operands, maps, strict=True)):
            if index >= inputs or operand in self.last:
                operand = self.of(operand)
                own_map = ir.AffineMap.get(4, 0, [own_map.results[axis] for axis in TO_NHWC])
            operands.append(operand)
            axes.append([each.compose(loops) for each in own_map.results])
        kinds = array(operation.attributes["iterator_types"])
        names = ["reduction" if "reduction" in str(kinds[axis]) else "parallel" for axis in TO_NHWC]
        own = generic_without_body(operands[:inputs], operands[inputs:], axes, names)
        operation.regions[0].blocks[0].append_to(own.regions[0])
        self.put(operation, *own.results)

    def _pad(self, operation: ir.Operation) -> None:
        self.put(operation, self._padded(operation))

    def _padded(self, operation: ir.Operation) -> ir.Value:
        low, high = (
            [list(ir.DenseI64ArrayAttr(operation.attributes[name]))[axis] for axis in TO_NHWC]
            for name in ("static_low", "static_high")
        )
        return padded(self.of(operation.operands[0]), low, high, padding_value(operation))

    def _concat(self, operation: ir.Operation) -> None:
        axis = ir.IntegerAttr(operation.attributes["dim"])
        attributes = {"dim": ir.IntegerAttr.get(axis.type, TO_NHWC.index(axis.value))}
        kind = permuted(operation.results[0].type, TO_NHWC)
        operands = [self.of(operand) for operand in operation.operands]
        own = ir.Operation.create("tensor.concat", [kind], operands, attributes)
        self.put(operation, own.results[0])

    def _slice(self, operation: ir.Operation) -> None:
        """Rewrites `tensor.extract_slice` or `tensor.insert_slice`."""
        names = ("static_offsets", "static_sizes", "static_strides")
        attributes = _with_permuted(operation, *names)
        kind = permuted(operation.results[0].type, TO_NHWC)
        operands = [
            self.of(operand) if isinstance(operand.type, ir.RankedTensorType) else operand
            for operand in operation.operands
        ]
        own = ir.Operation.create(operation.name, [kind], operands, attributes)
        self.put(operation, own.results[0])


def _is_of_images(operation: ir.Operation) -> bool:
    """Returns whether all results are 4-D, and only the first size of each tensor is dynamic."""
    return (
        all(
            isinstance(result.type, ir.RankedTensorType) and result.type.rank == 4
            for result in operation.results
        )
        and all(
            not isinstance(value.type, ir.RankedTensorType) or has_only_first_dynamic(value.type)
            for value in (*operation.results, *operation.operands)
        )
        and _has_static_parameters(operation)
    )


def has_only_first_dynamic(kind: ir.RankedTensorType) -> bool:
    """Returns whether all sizes but the first are static."""
    return not any(kind.is_dynamic_dim(axis) for axis in range(1, kind.rank))


def _has_static_parameters(operation: ir.Operation) -> bool:
    """Returns whether offsets, sizes and strides are attributes, and slices have four axes.

    The number of images may be an operand: the one dynamic size of a slice.
    """
    count = {"tensor.pad": 1, "tensor.extract_slice": 1, "tensor.insert_slice": 2}
    if operation.name not in count:
        return True
    images = list(operation.operands)[: count[operation.name]]
    sizes = len(operation.operands) - len(images)
    if sizes == 1 and operation.name != "tensor.pad":
        first, *others = ir.DenseI64ArrayAttr(operation.attributes["static_sizes"])
        dynamic = ir.ShapedType.get_dynamic_size()
        has_only_known = first == dynamic and dynamic not in others
    else:
        has_only_known = sizes == 0
    return has_only_known and all(ir.RankedTensorType(image.type).rank == 4 for image in images)


def _can_be_permuted(operation: ir.Operation) -> bool:
    """Returns whether a `linalg.generic` has four loops and no `linalg.index`."""
    maps = [each.value for each in array(operation.attributes["indexing_maps"])]
    body = operation.regions[0].blocks[0]
    return maps[0].n_dims == 4 and all(each.operation.name != "linalg.index" for each in body)


def padding_value(operation: ir.Operation) -> ir.Value | None:
    """Returns the value that `tensor.pad` pads with; None if its region computes the value."""
    first = operation.regions[0].blocks[0].operations[0].operation
    if first.name != "tensor.yield" or producer(first.operands[0]) is None:
        return None
    return first.operands[0]


def _sizes_of(value: ir.Value) -> list[Size]:
    """Returns the sizes of the NHWC form of a value."""
    sizes = sizes_of(value)
    return [sizes[axis] for axis in TO_NHWC]


def _with_permuted(operation: ir.Operation, *names: str) -> dict[str, ir.Attribute]:
    """Returns the attributes of an operation, with those of `names` permuted to NHWC."""
    attributes = dict(operation.attributes.items())
    for name in names:
        values = list(ir.DenseI64ArrayAttr(attributes[name]))
        attributes[name] = ir.DenseI64ArrayAttr.get([values[axis] for axis in TO_NHWC])
    return attributes


def array(attribute: ir.Attribute) -> list[ir.Attribute]:
    """Returns the elements of an array attribute."""
    return list(ir.ArrayAttr(attribute))


NHWC = Pipeline(
    name="nhwc",
    stage="linalg",
    hint="report this bug with the model",
    steps=(
        Step("to-channels-last", "convert images to NHWC", to_channels_last),
        Step("cse", "remove what only the operations on NCHW used"),
    ),
)
