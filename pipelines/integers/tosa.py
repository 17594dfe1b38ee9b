"""Integer programs in TOSA: convolutions and products with zero points, `rescale` and `table`."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.integers.operators import (
    Lines,
    Operator,
    Tensor,
    define_function,
    lower_operators,
    tensor_type,
)
from unmess.core.errors.error import Error

# From NCHW to NHWC, and back.
_LAST, _FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


def integers_to_tosa(module: ir.Module) -> None:
    """Lowers the operators of integer programs in a module at `torch` to TOSA.

    Raises:
        Error: stage `tosa`, for a convolution of images with dynamic sizes.
    """
    lower_operators(
        module,
        "convert-torch-to-tosa",
        {
            "integer_convolution": _convolution,
            "integer_max_pool": _max_pool,
            "integer_matmul": _matmul,
            "rescale": _rescale,
            "table": _table,
        },
    )


class _Lines(Lines):
    """Adds operations of the dialect to a function."""

    def constant(self, values: int | list[int], bits: int) -> str:
        count = len(values) if isinstance(values, list) else 1
        kind = f"tensor<{count}xi{bits}>"
        return self.add(f'"tosa.const"() <{{values = dense<{values}> : {kind}}}> : () -> {kind}')

    def shape(self, sizes: list[int]) -> tuple[str, str]:
        """Returns a constant shape and its type."""
        kind = f"!tosa.shape<{len(sizes)}>"
        name = self.add(
            f"tosa.const_shape {{values = dense<{sizes}> : tensor<{len(sizes)}xindex>}} "
            f": () -> {kind}"
        )
        return name, kind

    def transposed(self, name: str, tensor: Tensor, order: list[int]) -> tuple[str, Tensor]:
        new = tensor.with_sizes([tensor.sizes[axis] for axis in order])
        order_text = ", ".join(map(str, order))
        result = self.add(
            f"tosa.transpose {name} {{perms = array<i32: {order_text}>}} "
            f": ({tensor.type}) -> {new.type}"
        )
        return result, new

    def sliced(
        self, name: str, tensor: Tensor, start: list[int], sizes: list[int]
    ) -> tuple[str, Tensor]:
        (first, kind), (counts, _) = self.shape(start), self.shape(sizes)
        new = tensor.with_sizes(
            [None if old is None else size for old, size in zip(tensor.sizes, sizes, strict=True)]
        )
        result = self.add(
            f"tosa.slice {name}, {first}, {counts} : ({tensor.type}, {kind}, {kind}) -> {new.type}"
        )
        return result, new

    def reshaped(self, name: str, tensor: Tensor, sizes: list[int | None]) -> tuple[str, Tensor]:
        shape, kind = self.shape([-1 if size is None else size for size in sizes])
        new = tensor.with_sizes(sizes)
        result = self.add(f"tosa.reshape {name}, {shape} : ({tensor.type}, {kind}) -> {new.type}")
        return result, new


def _convolution(operator: Operator) -> str:
    x, weight, bias = operator.tensors
    zero_points, stride, padding, dilation, groups = operator.numbers
    out = _Lines()
    name, now, pads = _fitted(out, x, list(weight.sizes[2:]), stride, padding, dilation)
    filters = weight.sizes[0]
    points = [out.constant(point, 8) for point in zero_points]
    attributes = (
        f"{{acc_type = i32, dilation = array<i64: {dilation[0]}, {dilation[1]}>, "
        f"pad = array<i64: {pads}>, stride = array<i64: {stride[0]}, {stride[1]}>}}"
    )
    addends = "%bias" if bias is not None else out.constant([0] * filters, 32)
    of_addends = bias.type if bias is not None else tensor_type((filters,), 32)
    rows, columns = operator.result.sizes[2:]
    result = operator.result.with_sizes([operator.result.sizes[0], rows, columns, filters])
    if groups == x.sizes[1] and groups > 1:
        # (filters, 1, rows, columns) to (rows, columns, channels, filters of each channel).
        kernel, of_kernel = out.transposed("%weight", weight, [2, 3, 0, 1])
        each = filters // groups
        kernel, of_kernel = out.reshaped(kernel, of_kernel, [*weight.sizes[2:], groups, each])
        sums = out.add(
            f"tosa.depthwise_conv2d {name}, {kernel}, {addends}, {points[0]}, {points[1]} "
            f"{attributes} : ({now.type}, {of_kernel.type}, {of_addends}, tensor<1xi8>, "
            f"tensor<1xi8>) -> {result.type}"
        )
    else:
        kernel, of_kernel = out.transposed("%weight", weight, _LAST)
        parts = []
        depth, each = x.sizes[1] // groups, filters // groups
        for group in range(groups):
            part, of_part = name, now
            part_kernel, of_part_kernel = kernel, of_kernel
            part_addends, of_part_addends = addends, of_addends
            of_sums = result
            if groups > 1:
                sizes = [-1 if size is None else size for size in now.sizes]
                part, of_part = out.sliced(name, now, [0, 0, 0, group * depth], [*sizes[:3], depth])
                part_kernel, of_part_kernel = out.sliced(
                    kernel, of_kernel, [group * each, 0, 0, 0], [each, *of_kernel.sizes[1:]]
                )
                whole = Tensor((filters,), "si32", of_addends)
                part_addends, sliced = out.sliced(addends, whole, [group * each], [each])
                of_part_addends = sliced.type
                of_sums = result.with_sizes([*result.sizes[:3], each])
            parts.append(
                (
                    out.add(
                        f"tosa.conv2d {part}, {part_kernel}, {part_addends}, {points[0]}, "
                        f"{points[1]} {attributes} : ({of_part.type}, {of_part_kernel.type}, "
                        f"{of_part_addends}, tensor<1xi8>, tensor<1xi8>) -> {of_sums.type}"
                    ),
                    of_sums.type,
                )
            )
        sums = parts[0][0]
        if groups > 1:
            sums = out.add(
                f"tosa.concat {', '.join(part for part, _ in parts)} {{axis = 3 : i32}} "
                f": ({', '.join(kind for _, kind in parts)}) -> {result.type}"
            )
    sums, _ = out.transposed(sums, result, _FIRST)
    return define_function(operator, ("x", "weight", "bias"), out.lines, sums)


def _max_pool(operator: Operator) -> str:
    (x,) = operator.tensors
    window, stride, padding, dilation = operator.numbers
    if any(step != 1 for step in dilation):
        raise Error(
            "tosa", "max pooling is dilated, which TOSA cannot express", hint="try --to linalg"
        )
    out = _Lines()
    name, now, pads = _fitted(out, x, window, stride, padding, dilation)
    result = operator.result.with_sizes([operator.result.sizes[axis] for axis in _LAST])
    pooled = out.add(
        f"tosa.max_pool2d {name} {{kernel = array<i64: {window[0]}, {window[1]}>, "
        f"pad = array<i64: {pads}>, stride = array<i64: {stride[0]}, {stride[1]}>}} "
        f": ({now.type}) -> {result.type}"
    )
    pooled, _ = out.transposed(pooled, result, _FIRST)
    return define_function(operator, ("x",), out.lines, pooled)


def _fitted(
    out: _Lines,
    x: Tensor,
    window: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
) -> tuple[str, Tensor, str]:
    """Transposes images, and cuts off the rows and columns outside of all windows.

    TOSA requires that the last window ends at the edge of the padded image.

    Returns:
        The name and the type of the images, and the padding as TOSA's attribute has it.
    """
    if None in x.sizes[2:]:
        raise Error(
            "tosa",
            "an integer operator has images with dynamic sizes, whose windows TOSA cannot express",
            hint="fix the sizes of the images, or try --to linalg",
        )
    name, now = out.transposed("%x", x, _LAST)
    pads, kept = [], list(now.sizes)
    for at, size in enumerate(x.sizes[2:]):
        reach = dilation[at] * (window[at] - 1)
        left = (size - 1 + 2 * padding[at] - reach) % stride[at]
        pads += [padding[at], max(0, padding[at] - left)]
        kept[1 + at] = size - max(0, left - padding[at])
    if kept != list(now.sizes):
        sizes = [-1 if size is None else size for size in kept]
        name, now = out.sliced(name, now, [0, 0, 0, 0], sizes)
    return name, now, ", ".join(map(str, pads))


def _matmul(operator: Operator) -> str:
    a, b, bias = operator.tensors
    (zero_points,) = operator.numbers
    out = _Lines()
    points = [out.constant(point, 8) for point in zero_points]
    left, right, result = ("%x", a), ("%weight", b), operator.result
    if len(a.sizes) == 2:
        left = out.reshaped(*left, [1, *a.sizes])
        right = out.reshaped(*right, [1, *b.sizes])
        result = result.with_sizes([1, *result.sizes])
    sums = out.add(
        f"tosa.matmul {left[0]}, {right[0]}, {points[0]}, {points[1]} : ({left[1].type}, "
        f"{right[1].type}, tensor<1xi8>, tensor<1xi8>) -> {result.type}"
    )
    if bias is not None:
        addends, of_addends = out.reshaped("%bias", bias, [1, 1, *bias.sizes])
        sums = out.add(
            f"tosa.add {sums}, {addends} : ({result.type}, {of_addends.type}) -> {result.type}"
        )
    if len(a.sizes) == 2:
        sums, _ = out.reshaped(sums, result, list(operator.result.sizes))
    return define_function(operator, ("x", "weight", "bias"), out.lines, sums)


def _rescale(operator: Operator) -> str:
    x, multiplier, shift = operator.tensors
    axis, zero_points, _ = operator.numbers
    result = operator.result
    out = _Lines()
    rank = len(x.sizes)
    per_channel = axis >= 0
    name, now = "%x", x
    order = [each for each in range(rank) if each != axis] + [axis] if per_channel else []
    moves = per_channel and axis != rank - 1
    if moves:
        name, now = out.transposed(name, now, order)
        result = result.with_sizes([result.sizes[each] for each in order])
    points = [
        out.constant(_signless(point, tensor.bits), tensor.bits)
        for point, tensor in zip(zero_points, (x, result), strict=True)
    ]
    scaled = out.add(
        f"tosa.rescale {name}, %multiplier, %shift, {points[0]}, {points[1]} "
        f"{{scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = {_flag(per_channel)}, "
        f"input_unsigned = {_flag(x.is_unsigned)}, output_unsigned = {_flag(result.is_unsigned)}}} "
        f": ({now.type}, {multiplier.type}, {shift.type}, tensor<1xi{x.bits}>, "
        f"tensor<1xi{result.bits}>) -> {result.type}"
    )
    if moves:
        back = [order.index(each) for each in range(rank)]
        scaled, _ = out.transposed(scaled, result, back)
    return define_function(operator, ("x", "multiplier", "shift"), out.lines, scaled)


def _table(operator: Operator) -> str:
    x, values = operator.tensors
    out = _Lines()
    found = out.add(f"tosa.table %x, %values : ({x.type}, {values.type}) -> {operator.result.type}")
    return define_function(operator, ("x", "values"), out.lines, found)


def _signless(value: int, bits: int) -> int:
    """Returns a zero point of an unsigned type as the signless constant with the same bits."""
    return value - 2**bits if value >= 2 ** (bits - 1) else value


def _flag(value: bool) -> str:
    return "true" if value else "false"
