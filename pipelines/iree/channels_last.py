"""Converts image networks to NHWC (channels last), the layout for which IREE has fast code.

IREE has vector code for NHWC convolutions; for depthwise ones it has vector code only for the named
operations. Its own pass (`iree-preprocessing-convert-conv-to-channels-last`) skips depthwise
convolutions, and operations between convolutions that are not elementwise. So transpositions of
whole images remain, and end up inside of loops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.tensor_ops import (
    Size,
    is_of_zeros,
    permuted,
    product_of,
    reshaped,
    sizes_of,
    sliced,
    transposed,
    zeros,
)
from pipelines.ir.values import producer, producer_named
from pipelines.iree import convolution_3d, flat_convolutions
from pipelines.iree.barriers import barrier
from pipelines.iree.convolution_product import (
    convolution_as_product,
    is_better_as_product,
)
from pipelines.iree.load_time import values_at_load
from pipelines.linalg_form.channels_last import (
    TO_NHWC,
    ChannelsLast,
    array,
    has_only_first_dynamic,
    rewrite_functions,
)
from pipelines.pipeline import Step

_CONVOLUTION = "linalg.conv_2d_nchw_fchw"
_OF_BYTES = "linalg.conv_2d_nchw_fchw_q"
_DEPTHWISE = "linalg.depthwise_conv_2d_nchw_chw"
_GROUPED = "linalg.conv_2d_ngchw_gfchw"
# A grouped convolution splits the channel axis of an image into two: groups and channels.
_GROUPS = [[0], [1, 2], [3], [4]]


def to_fast_channels_last(module: ir.Module) -> None:
    """Rewrites the functions of a module at `linalg` in place.

    Convolutions that IREE compiles to slow code become matrix products, among them all convolutions
    of bytes. A strided 1×1 convolution becomes an unstrided one of a strided slice, because IREE
    compiles the strided one to scalar code.
    """
    _rewrite(module, _FastChannelsLast)


def to_fast_channels_last_few_registers(module: ir.Module) -> None:
    """Does the same for CPUs with 16 vector registers, where more convolutions become products."""
    _rewrite(module, _FewRegisters)


def _rewrite(module: ir.Module, kind: type[_FastChannelsLast]) -> None:
    with module.context:
        for operation in find_operations(module, lambda each: each.name == _GROUPED):
            _separate_groups(operation)
    rewrite_functions(module, partial(kind, values_at_load(module)))


class _FastChannelsLast(ChannelsLast):
    """Rewrites one function to NHWC, and to operations that IREE compiles to fast code.

    Args:
        at_load: the values that IREE computes when it loads the program.
    """

    few_registers = False

    def __init__(self, at_load: set[ir.Value]) -> None:
        super().__init__()
        self.at_load = at_load

    def rewriting(self, operation: ir.Operation) -> Callable[[ir.Operation], None] | None:
        if operation.name == _GROUPED:
            return self._grouped if _joins_groups(operation) else None
        if flat_convolutions.is_flat(operation) and _is_of_floats(operation):
            return self._flat
        if convolution_3d.is_supported(operation):
            return self._volumes
        return super().rewriting(operation)

    def put(self, operation: ir.Operation, *values: ir.Value) -> None:
        # Otherwise, IREE splits the channels in the loops of the convolution, and compiles it to
        # scalar code.
        if any(map(_splits_channels, _users(operation))):
            values = tuple(map(barrier, values))
        super().put(operation, *values)

    def named(self, operation: ir.Operation) -> None:
        self._slice_before_transposition(operation)
        if not self._is_product(operation):
            super().named(operation)
            return
        image, weight, *zero_points, init = operation.operands
        kind = permuted(init.type, TO_NHWC)
        own_init = None if is_of_zeros(init) else self.of(init)
        last = convolution_as_product(
            self.of(image), weight, *windows_of(operation), kind, own_init, zero_points
        )
        self.put(operation, last)

    def _is_product(self, operation: ir.Operation) -> bool:
        """Returns whether a convolution becomes a matrix product."""
        if operation.name == _OF_BYTES:
            return _is_static_with_window(operation)
        if operation.name != _CONVOLUTION or not _is_of_floats(operation):
            return False
        _, weight, init = operation.operands
        kind, (strides, _) = permuted(init.type, TO_NHWC), windows_of(operation)
        return is_better_as_product(weight, strides, kind, few_registers=self.few_registers)

    def _slice_before_transposition(self, operation: ir.Operation) -> None:
        """Makes a strided 1×1 convolution of an NCHW image an unstrided one of a slice.

        IREE folds the transposition of the slice into the matrix product. If the slice is of the
        transposed image, IREE compiles the product to scalar code.
        """
        image, strides = operation.operands[0], operation.attributes["strides"]
        steps = [1, 1, *ir.DenseIntElementsAttr(strides)]
        if not _is_of_points(operation) or image in self.last or max(steps) == 1:
            return
        sizes = [*sizes_of(image)[:2], *ir.RankedTensorType(operation.results[0].type).shape[2:]]
        operation.operands[0] = barrier(sliced(image, sizes, steps))
        operation.attributes["strides"] = _ones(strides)

    def reordered(self, second: ir.Value, order: tuple[int, ...]) -> ir.Value:
        return _weight(second, order, second in self.at_load)

    def strided(
        self, operation: ir.Operation, image: ir.Value, init: ir.Value
    ) -> tuple[ir.Value, ir.Attribute]:
        strides = operation.attributes["strides"]
        if _is_of_points(operation):
            return _strided(image, strides, init), _ones(strides)
        is_transposed = producer_named(image, "linalg.transpose") is not None
        if is_transposed and operation.name in (_CONVOLUTION, _DEPTHWISE):
            # IREE would move the transposition into the loops of the convolution.
            image = barrier(image)
        return image, strides

    def _flat(self, operation: ir.Operation) -> None:
        """Rewrites a convolution to a 2-D one, and that one to NHWC."""
        planar, result = flat_convolutions.flattened(operation)
        if operation.operands[1] in self.at_load:
            self.at_load.add(planar.operands[1])
        operation.results[0].replace_all_uses_with(result)
        self.replaced.append(operation)
        # The result's transposition back is created before `planar`.
        with ir.InsertionPoint(planar):
            self.named(planar)

    def _volumes(self, operation: ir.Operation) -> None:
        """Rewrites a 3-D convolution to 2-D ones."""
        _, weight, init = operation.operands
        convolve = partial(
            _convolution, few_registers=self.few_registers, is_at_load=weight in self.at_load
        )
        result = convolution_3d.convolve_planes(
            operation, None if is_of_zeros(init) else init, convolve
        )
        operation.results[0].replace_all_uses_with(result)
        self.replaced.append(operation)

    def _grouped(self, operation: ir.Operation) -> None:
        """Rewrites a grouped convolution and the `tensor.collapse_shape` that joins its groups."""
        image, weight, init = operation.operands
        (use,) = operation.results[0].uses
        joined = use.owner.operation
        kind = permuted(joined.results[0].type, TO_NHWC)
        own_init = None if is_of_zeros(init) else self.of(init.owner.operation.operands[0])
        own_image = self.of(image.owner.operation.operands[0])
        last = convolution_as_product(own_image, weight, *windows_of(operation), kind, own_init)
        if len(list(image.uses)) == 1:
            self.replaced.append(image.owner.operation)
        self.replaced.append(operation)
        self.put(joined, last)


class _FewRegisters(_FastChannelsLast):
    few_registers = True


def _convolution(
    image: ir.Value,
    weight: ir.Value,
    strides: list[int],
    dilations: list[int],
    kind: ir.RankedTensorType,
    init: ir.Value | None,
    few_registers: bool,
    is_at_load: bool,
) -> ir.Value:
    """Creates a convolution in NHWC, or the form of it that IREE compiles to fast code.

    Args:
        is_at_load: IREE computes the weight when it loads the program.
    """
    if is_better_as_product(weight, strides, kind, few_registers=few_registers):
        return convolution_as_product(image, weight, strides, dilations, kind, init)
    if init is None:
        init = zeros(list(kind.shape), kind.element_type)
    index = ir.IntegerType.get_signless(64)
    windows = {
        name: ir.DenseElementsAttr.get(
            [ir.IntegerAttr.get(index, each) for each in values],
            ir.VectorType.get([2], index),
        )
        for name, values in (("strides", strides), ("dilations", dilations))
    }
    own = ir.Operation.create(
        "linalg.conv_2d_nhwc_hwcf",
        [kind],
        [image, _weight(weight, (2, 3, 1, 0), is_at_load), init],
        {**windows, "operandSegmentSizes": ir.DenseI32ArrayAttr.get([2, 1])},
        regions=1,
    )
    element = kind.element_type
    block = own.regions[0].blocks.append(element, element, element)
    with ir.InsertionPoint(block):
        value, factor, total = block.arguments
        product = ir.Operation.create("arith.mulf", [element], [value, factor]).result
        added = ir.Operation.create("arith.addf", [element], [total, product]).result
        ir.Operation.create("linalg.yield", [], [added])
    return own.result


def _weight(weight: ir.Value, order: tuple[int, ...], is_at_load: bool) -> ir.Value:
    """Returns the weight of a convolution with its axes in another order.

    In a call, IREE would move the transposition into the loops of the convolution, and compile it
    to scalar code.
    """
    last = transposed(weight, order)
    has_window = any(size != 1 for size in ir.RankedTensorType(weight.type).shape[-2:])
    return last if is_at_load or not has_window or last == weight else barrier(last)


def _users(operation: ir.Operation) -> list[ir.Operation]:
    return [use.owner.operation for result in operation.results for use in result.uses]


def _splits_channels(operation: ir.Operation) -> bool:
    """Returns whether an operation splits the channel axis of an NCHW image."""
    if operation.name != "tensor.expand_shape":
        return False
    return len(list(operation.attributes["reassociation"])[1]) > 1


def _separate_groups(operation: ir.Operation) -> None:
    """Splits or joins the groups of a convolution by reshapes that leave all other axes alone.

    A reshape next to a 1-D convolution also adds or removes the axis of size 1 that makes it a 2-D
    convolution.
    """
    split, users = producer(operation.operands[0]), _users(operation)
    with operation.location:
        if _reshapes_more_than_groups(split, "tensor.expand_shape"):
            sizes = sizes_of(operation.operands[0])
            with ir.InsertionPoint(operation):
                groups = _without_groups(split)
                planar = reshaped(split.name, split.operands[0], _joined(sizes), groups)
                operation.operands[0] = reshaped(split.name, planar, sizes, _GROUPS)
        if len(users) == 1 and _reshapes_more_than_groups(users[0], "tensor.collapse_shape"):
            (join,) = users
            sizes = _joined(sizes_of(operation.results[0]))
            with ir.InsertionPoint(join):
                planar = reshaped(join.name, operation.results[0], sizes, _GROUPS)
                groups = _without_groups(join)
                whole = [product_of([sizes[axis] for axis in group]) for group in groups]
                result = reshaped(join.name, planar, whole, groups)
            join.results[0].replace_all_uses_with(result)
            join.erase()


def _reshapes_more_than_groups(operation: ir.Operation | None, name: str) -> bool:
    """Returns whether a reshape is of groups and channels, axes 1 and 2, and also of other axes."""
    if operation is None or operation.name != name:
        return False
    groups = _reassociation(operation)
    return groups != _GROUPS and any(group[:2] == [1, 2] for group in groups)


def _joined(sizes: list[Size]) -> list[Size]:
    """Returns sizes with a single axis for groups and channels."""
    return [sizes[0], sizes[1] * sizes[2], *sizes[3:]]


def _without_groups(reshape: ir.Operation) -> list[list[int]]:
    """Returns the reassociation of a reshape whose axes 1 and 2 are joined to one axis."""
    return [[axis - (axis > 1) for axis in group if axis != 2] for group in _reassociation(reshape)]


def _joins_groups(operation: ir.Operation) -> bool:
    """Returns whether a grouped float convolution has an expanded image and a collapsed result."""
    image, _, init = operation.operands
    users = _users(operation)
    return (
        _is_of_floats(operation)
        and _has_groups(producer(image), "tensor.expand_shape")
        and len(users) == 1
        and _has_groups(users[0], "tensor.collapse_shape")
        and (is_of_zeros(init) or _has_groups(producer(init), "tensor.expand_shape"))
    )


def _is_of_floats(operation: ir.Operation) -> bool:
    """Returns whether all operands are f32, or all f64, and only their first size is dynamic."""
    kinds = [ir.RankedTensorType(operand.type) for operand in operation.operands]
    element = kinds[0].element_type
    return isinstance(element, ir.F32Type | ir.F64Type) and all(
        has_only_first_dynamic(kind) and kind.element_type == element for kind in kinds
    )


def windows_of(operation: ir.Operation) -> tuple[list[int], list[int]]:
    """Returns the strides and the dilations of a convolution."""
    strides, dilations = (operation.attributes[name] for name in ("strides", "dilations"))
    return list(ir.DenseIntElementsAttr(strides)), list(ir.DenseIntElementsAttr(dilations))


def _has_groups(operation: ir.Operation | None, name: str) -> bool:
    if operation is None or operation.name != name:
        return False
    return _reassociation(operation) == _GROUPS


def _reassociation(reshape: ir.Operation) -> list[list[int]]:
    groups = array(reshape.attributes["reassociation"])
    return [[axis.value for axis in array(group)] for group in groups]


def _is_static_with_window(operation: ir.Operation) -> bool:
    """Returns whether a convolution of bytes has static sizes, and a window of several elements.

    As products, those of ResNet-18 took half the time, on Zen 5 and with its AVX2 code.
    """
    image, weight, *_, init = (operand.type for operand in operation.operands)
    kinds = [ir.RankedTensorType(each) for each in (image, weight, init)]
    return kinds[1].shape[2:] != [1, 1] and all(kind.has_static_shape for kind in kinds)


def _is_of_points(operation: ir.Operation) -> bool:
    """Returns whether an operation is a convolution of one group with a window of one element."""
    if operation.name != _CONVOLUTION:
        return False
    return ir.RankedTensorType(operation.operands[1].type).shape[2:] == [1, 1]


def _ones(strides: ir.Attribute) -> ir.Attribute:
    """Returns strides of 1, of the same type."""
    one = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)
    return ir.DenseElementsAttr.get_splat(ir.DenseIntElementsAttr(strides).type, one)


def _strided(image: ir.Value, strides: ir.Attribute, result: ir.Value) -> ir.Value:
    """Returns the slice of an NHWC image that a strided 1×1 convolution reads."""
    steps = [1, *ir.DenseIntElementsAttr(strides), 1]
    if steps == [1, 1, 1, 1]:
        return image
    count, *_, channels = sizes_of(image)
    _, height, width, _ = ir.RankedTensorType(result.type).shape
    return sliced(image, [count, height, width, channels], steps)


CHANNELS_LAST = Step(
    "iree-channels-last",
    "convert images to NHWC, which IREE compiles to faster code",
    to_fast_channels_last,
)
CHANNELS_LAST_FEW_REGISTERS = Step(
    "iree-channels-last-few-registers",
    "the same for CPUs with 16 vector registers: IREE's code for convolutions needs more, so most "
    "become products",
    to_fast_channels_last_few_registers,
)
