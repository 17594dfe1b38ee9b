"""Converts image networks to NHWC (channels last), the layout for which IREE has fast code.

PyTorch's convolutions are NCHW. IREE has vector code for NHWC convolutions; for depthwise ones it
has vector code only for the named operations. Its own pass
(`iree-preprocessing-convert-conv-to-channels-last`) skips depthwise convolutions, and operations
between convolutions that are not elementwise. So transpositions of whole images remain, and end up
inside of loops.

This module computes each 4-D result of a convolution or pooling in NHWC, and so the values computed
from it, as far as possible. Values that other operations use are transposed back.
"""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir.tensor_ops import Size, copied, empty, permuted, sizes_of, sliced, transposed
from pipelines.iree.convolution_product import (
    convolution_as_product,
    is_better_as_product,
)
from pipelines.pipeline import Step

# Permutations from NCHW to NHWC and back: axis `i` of the result is axis `order[i]` of the source.
_TO, _BACK = (0, 2, 3, 1), (0, 3, 1, 2)
# Operations on NCHW images: the same operation on NHWC, and the permutation of its second operand.
_NAMED = {
    "linalg.conv_2d_nchw_fchw": ("linalg.conv_2d_nhwc_hwcf", (2, 3, 1, 0)),
    "linalg.depthwise_conv_2d_nchw_chw": ("linalg.depthwise_conv_2d_nhwc_hwc", (1, 2, 0)),
    "linalg.pooling_nchw_max": ("linalg.pooling_nhwc_max", (0, 1)),
    "linalg.pooling_nchw_sum": ("linalg.pooling_nhwc_sum", (0, 1)),
}
_CONVOLUTION = "linalg.conv_2d_nchw_fchw"
_GROUPED = "linalg.conv_2d_ngchw_gfchw"
# A grouped convolution splits the channel axis of an image into two: groups and channels.
_GROUPS = [[0], [1, 2], [3], [4]]


def to_channels_last(module: ir.Module) -> None:
    """Rewrites the functions of a module at `linalg` in place.

    The number of images may be dynamic. Values with other dynamic sizes stay NCHW.

    A strided 1×1 convolution becomes an unstrided one of a strided slice, because IREE compiles the
    strided one to scalar code.
    """
    with module.context:
        for function in module.body.operations:
            if function.operation.name == "func.func" and not function.is_external:
                _Function().rewrite(function.entry_block)


class _Function:
    """Rewrites one function to NHWC."""

    def __init__(self) -> None:
        # The NHWC form of each value, and the operations to erase at the end.
        self._last: dict[ir.Value, ir.Value] = {}
        self._replaced: list[ir.Operation] = []

    def rewrite(self, block: ir.Block) -> None:
        for view in list(block.operations):
            operation = view.operation
            rewriting = self._rewriting(operation)
            if rewriting is None:
                continue
            with ir.InsertionPoint(operation), operation.location:
                rewriting(operation)
        self._transpose_back()

    def _rewriting(self, operation: ir.Operation) -> Callable[[ir.Operation], None] | None:
        """Returns the method that rewrites an operation; None if the operation stays as it is."""
        name = operation.name
        if name == _GROUPED:
            return self._grouped if _joins_groups(operation) else None
        if not _is_of_images(operation):
            return None
        if name in _NAMED:
            return self._named
        if name == "linalg.transpose":
            return self._transpose
        if not any(operand in self._last for operand in operation.operands):
            return None
        if name == "linalg.generic":
            return self._generic if _can_be_permuted(operation) else None
        if name == "tensor.pad":
            return self._pad if _padding(operation) else None
        if name in ("tensor.extract_slice", "tensor.insert_slice"):
            return self._slice
        return self._concat if name == "tensor.concat" else None

    def _transpose_back(self) -> None:
        """Transposes values that are still used as NCHW, and erases the replaced operations."""
        # Compare results: Python wrappers of an operation are not unique.
        gone = {result for operation in self._replaced for result in operation.results}
        # Last to first, because the transposition back of one value may use an earlier value.
        for value, last in reversed(self._last.items()):
            users = [use.owner.operation for use in value.uses]
            if all(user.results and user.results[0] in gone for user in users):
                continue
            with ir.InsertionPoint(value.owner), value.owner.location:
                value.replace_all_uses_with(transposed(last, _BACK))
        for operation in reversed(self._replaced):
            operation.erase()

    def _put(self, operation: ir.Operation, *values: ir.Value) -> None:
        self._last.update(zip(operation.results, values, strict=True))
        self._replaced.append(operation)

    def _of(self, value: ir.Value) -> ir.Value:
        """Returns the NHWC form of a 4-D value, created at the insertion point if needed."""
        if value in self._last:
            return self._last[value]
        owner = value.owner
        if isinstance(owner, ir.Block):
            return transposed(value, _TO)
        made = owner.operation
        if made.name == "tensor.empty":
            return empty(_sizes_of(value), ir.RankedTensorType(value.type).element_type)
        if made.name == "linalg.fill":
            return copied("linalg.fill", _sizes_of(value), made.operands[0])
        if made.name == "tensor.pad" and _padding(made) and _is_of_images(made):
            # A transposition after the padding would end up in the loops of the convolution.
            return self._padded(made)
        if made.name == "linalg.broadcast":
            added = list(ir.DenseI64ArrayAttr(made.attributes["dimensions"]))
            if len(added) == 3:
                axes = [axis for axis in range(4) if _TO[axis] in added]
                dimensions = {"dimensions": ir.DenseI64ArrayAttr.get(axes)}
                return copied("linalg.broadcast", _sizes_of(value), made.operands[0], dimensions)
        return transposed(value, _TO)

    def _named(self, operation: ir.Operation) -> None:
        name, order = _NAMED[operation.name]
        image, second, init = operation.operands
        kind = permuted(init.type, _TO)
        if (
            operation.name == _CONVOLUTION
            and _is_of_floats(operation)
            and is_better_as_product(second, _windows(operation)[0], kind)
        ):
            own_init = None if _is_zero(init) else self._of(init)
            windows = _windows(operation)
            last = convolution_as_product(self._of(image), second, *windows, kind, own_init)
            self._put(operation, last)
            return
        attributes = {"strides": operation.attributes["strides"]}
        attributes["dilations"] = operation.attributes["dilations"]
        window = ir.RankedTensorType(second.type).shape[-2:]
        image, init = self._of(image), self._of(init)
        if operation.name == _CONVOLUTION and list(window) == [1, 1]:
            image = _strided(image, attributes["strides"], init)
            ones = ir.DenseIntElementsAttr(attributes["strides"])
            attributes["strides"] = ir.DenseElementsAttr.get_splat(
                ones.type, ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)
            )
        own = ir.Operation.create(
            name,
            [init.type],
            [image, transposed(second, order), init],
            {**attributes, "operandSegmentSizes": operation.attributes["operandSegmentSizes"]},
            regions=1,
        )
        operation.regions[0].blocks[0].append_to(own.regions[0])
        self._put(operation, own.results[0])

    def _grouped(self, operation: ir.Operation) -> None:
        """Rewrites a grouped convolution and the `tensor.collapse_shape` that joins its groups."""
        image, weight, init = operation.operands
        (use,) = operation.results[0].uses
        joined = use.owner.operation
        kind = permuted(joined.results[0].type, _TO)
        own_init = None if _is_zero(init) else self._of(init.owner.operation.operands[0])
        own_image = self._of(image.owner.operation.operands[0])
        last = convolution_as_product(own_image, weight, *_windows(operation), kind, own_init)
        if len(list(image.uses)) == 1:
            self._replaced.append(image.owner.operation)
        self._replaced.append(operation)
        self._put(joined, last)

    def _transpose(self, operation: ir.Operation) -> None:
        """Removes the model's own transpositions from NHWC or to NHWC."""
        order = tuple(ir.DenseI64ArrayAttr(operation.attributes["permutation"]))
        source, _ = operation.operands
        if order == _BACK:
            self._put(operation, source)
        elif order == _TO and source in self._last:
            operation.results[0].replace_all_uses_with(self._last[source])
            self._replaced.append(operation)

    def _generic(self, operation: ir.Operation) -> None:
        maps = [each.value for each in _array(operation.attributes["indexing_maps"])]
        # Maps the loops of NHWC to those of NCHW.
        loops = ir.AffineMap.get(4, 0, [ir.AffineDimExpr.get(axis) for axis in _BACK])
        operands, own_maps = [], []
        inputs = len(operation.operands) - len(operation.results)
        for index, (operand, own_map) in enumerate(zip(operation.operands, maps, strict=True)):
            if index >= inputs or operand in self._last:
                operand = self._of(operand)
                own_map = ir.AffineMap.get(4, 0, [own_map.results[axis] for axis in _TO])
            operands.append(operand)
            results = [each.compose(loops) for each in own_map.results]
            own_maps.append(ir.AffineMapAttr.get(ir.AffineMap.get(4, 0, results)))
        kinds = _array(operation.attributes["iterator_types"])
        own = ir.Operation.create(
            "linalg.generic",
            [operand.type for operand in operands[inputs:]],
            operands,
            {
                "indexing_maps": ir.ArrayAttr.get(own_maps),
                "iterator_types": ir.ArrayAttr.get([kinds[axis] for axis in _TO]),
                "operandSegmentSizes": operation.attributes["operandSegmentSizes"],
            },
            regions=1,
        )
        operation.regions[0].blocks[0].append_to(own.regions[0])
        self._put(operation, *own.results)

    def _pad(self, operation: ir.Operation) -> None:
        self._put(operation, self._padded(operation))

    def _padded(self, operation: ir.Operation) -> ir.Value:
        own = ir.Operation.create(
            "tensor.pad",
            [permuted(operation.results[0].type, _TO)],
            [self._of(operation.operands[0])],
            _with_permuted(operation, "static_low", "static_high"),
            regions=1,
        )
        block = own.regions[0].blocks.append(*[ir.IndexType.get()] * 4)
        with ir.InsertionPoint(block):
            ir.Operation.create("tensor.yield", [], [_padding(operation)])
        return own.result

    def _concat(self, operation: ir.Operation) -> None:
        axis = ir.IntegerAttr(operation.attributes["dim"])
        attributes = {"dim": ir.IntegerAttr.get(axis.type, _TO.index(axis.value))}
        kind = permuted(operation.results[0].type, _TO)
        operands = [self._of(operand) for operand in operation.operands]
        own = ir.Operation.create("tensor.concat", [kind], operands, attributes)
        self._put(operation, own.results[0])

    def _slice(self, operation: ir.Operation) -> None:
        """Rewrites `tensor.extract_slice` or `tensor.insert_slice`."""
        names = ("static_offsets", "static_sizes", "static_strides")
        attributes = _with_permuted(operation, *names)
        kind = permuted(operation.results[0].type, _TO)
        operands = [
            self._of(operand) if isinstance(operand.type, ir.RankedTensorType) else operand
            for operand in operation.operands
        ]
        own = ir.Operation.create(operation.name, [kind], operands, attributes)
        self._put(operation, own.results[0])


def _is_of_images(operation: ir.Operation) -> bool:
    """Returns whether all results are 4-D, and only the first size of each tensor is dynamic."""
    return (
        all(
            isinstance(result.type, ir.RankedTensorType) and result.type.rank == 4
            for result in operation.results
        )
        and all(
            not isinstance(value.type, ir.RankedTensorType) or _is_known_but_for_first(value.type)
            for value in (*operation.results, *operation.operands)
        )
        and _has_static_parameters(operation)
    )


def _is_known_but_for_first(kind: ir.RankedTensorType) -> bool:
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


def _joins_groups(operation: ir.Operation) -> bool:
    """Returns whether a grouped float convolution has an expanded image and a collapsed result."""
    image, _, init = operation.operands
    users = [use.owner.operation for use in operation.results[0].uses]
    return (
        _is_of_floats(operation)
        and _has_groups(image.owner, "tensor.expand_shape")
        and len(users) == 1
        and _has_groups(users[0], "tensor.collapse_shape")
        and (_is_zero(init) or _has_groups(init.owner, "tensor.expand_shape"))
    )


def _is_of_floats(operation: ir.Operation) -> bool:
    """Returns whether all operands are f32, or all f64, and only their first size is dynamic."""
    kinds = [ir.RankedTensorType(operand.type) for operand in operation.operands]
    element = kinds[0].element_type
    return isinstance(element, ir.F32Type | ir.F64Type) and all(
        _is_known_but_for_first(kind) and kind.element_type == element for kind in kinds
    )


def _windows(operation: ir.Operation) -> tuple[list[int], list[int]]:
    """Returns the strides and the dilations of a convolution."""
    strides, dilations = (operation.attributes[name] for name in ("strides", "dilations"))
    return list(ir.DenseIntElementsAttr(strides)), list(ir.DenseIntElementsAttr(dilations))


def _has_groups(owner: ir.Operation | ir.OpView | ir.Block, name: str) -> bool:
    if isinstance(owner, ir.Block) or owner.operation.name != name:
        return False
    groups = _array(owner.operation.attributes["reassociation"])
    return [[axis.value for axis in _array(group)] for group in groups] == _GROUPS


def _is_zero(value: ir.Value) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "linalg.fill":
        return False
    scalar = owner.operation.operands[0].owner
    return (
        not isinstance(scalar, ir.Block)
        and scalar.operation.name == "arith.constant"
        and ir.FloatAttr(scalar.operation.attributes["value"]).value == 0
    )


def _can_be_permuted(operation: ir.Operation) -> bool:
    """Returns whether a `linalg.generic` has four loops and no `linalg.index`."""
    maps = [each.value for each in _array(operation.attributes["indexing_maps"])]
    body = operation.regions[0].blocks[0]
    return maps[0].n_dims == 4 and all(each.operation.name != "linalg.index" for each in body)


def _padding(operation: ir.Operation) -> ir.Value | None:
    """Returns the value that `tensor.pad` pads with; None if its region computes the value."""
    first = operation.regions[0].blocks[0].operations[0].operation
    if first.name != "tensor.yield" or isinstance(first.operands[0].owner, ir.Block):
        return None
    return first.operands[0]


def _strided(image: ir.Value, strides: ir.Attribute, result: ir.Value) -> ir.Value:
    """Returns the slice of an NHWC image that a strided 1×1 convolution reads."""
    steps = [1, *ir.DenseIntElementsAttr(strides), 1]
    if steps == [1, 1, 1, 1]:
        return image
    count, *_, channels = sizes_of(image)
    _, height, width, _ = ir.RankedTensorType(result.type).shape
    return sliced(image, [count, height, width, channels], steps)


def _sizes_of(value: ir.Value) -> list[Size]:
    """Returns the sizes of the NHWC form of a value."""
    sizes = sizes_of(value)
    return [sizes[axis] for axis in _TO]


def _with_permuted(operation: ir.Operation, *names: str) -> dict[str, ir.Attribute]:
    """Returns the attributes of an operation, with those of `names` permuted to NHWC."""
    attributes = dict(operation.attributes.items())
    for name in names:
        values = list(ir.DenseI64ArrayAttr(attributes[name]))
        attributes[name] = ir.DenseI64ArrayAttr.get([values[axis] for axis in _TO])
    return attributes


def _array(attribute: ir.Attribute) -> list[ir.Attribute]:
    return list(ir.ArrayAttr(attribute))


CHANNELS_LAST = Step(
    "iree-channels-last",
    "convert images to NHWC, which IREE compiles to faster code",
    to_channels_last,
)
