"""Integer programs in StableHLO: products and scaling of wider integers."""

from __future__ import annotations

from functools import partial

from torch_mlir import ir

from pipelines.integers.operators import (
    Lines,
    Operator,
    Tensor,
    define_function,
    lower_operators,
)
from pipelines.ir.torch_operations import builtin_type

# Bounds of 8-bit integers.
_SIGNED, _UNSIGNED = (-128, 127), (0, 255)


def integers_to_stablehlo(module: ir.Module) -> None:
    """Lowers the operators of integer programs in a module at `torch` to StableHLO and CHLO."""
    lower_operators(
        module,
        "convert-torch-to-stablehlo",
        {
            "integer_convolution": _convolution,
            "integer_max_pool": _max_pool,
            "integer_matmul": _matmul,
            "rescale": _rescale,
            "table": _table,
        },
        partial(builtin_type, unsigned=True),
    )


class _Lines(Lines):
    """Adds operations of the dialect to a function."""

    def widened(self, name: str, tensor: Tensor, bits: int) -> tuple[str, Tensor]:
        """Converts integers to signed ones of more bits."""
        new = Tensor(tensor.sizes, f"si{bits}", tensor.type).with_sizes(tensor.sizes)
        return self.add(f"stablehlo.convert {name} : ({tensor.type}) -> {new.type}"), new

    def with_number(self, operation: str, name: str, tensor: Tensor, number: int) -> str:
        kind = f"tensor<i{tensor.bits}>"
        constant = self.add(f"stablehlo.constant dense<{number}> : {kind}")
        return self.add(
            f"chlo.broadcast_{operation} {name}, {constant} "
            f": ({tensor.type}, {kind}) -> {tensor.type}"
        )

    def with_channels(
        self, operation: str, name: str, tensor: Tensor, channels: str, of: Tensor, axis: int
    ) -> str:
        """Combines a tensor with a number for each index of `axis`; with one number if negative."""
        sizes = [1] * len(tensor.sizes)
        if axis >= 0:
            sizes[axis] = of.sizes[0]
        shaped = of.with_sizes(sizes)
        channels = self.add(f"stablehlo.reshape {channels} : ({of.type}) -> {shaped.type}")
        return self.add(
            f"chlo.broadcast_{operation} {name}, {channels} "
            f": ({tensor.type}, {shaped.type}) -> {tensor.type}"
        )


def _convolution(operator: Operator) -> str:
    x, weight, bias = operator.tensors
    zero_points, stride, padding, dilation, groups = operator.numbers
    result = operator.result
    out = _Lines()
    image, of_image = _centered(out, "%x", x, zero_points[0])
    kernel, of_kernel = _centered(out, "%weight", weight, zero_points[1])
    pads = ", ".join(f"[{pad}, {pad}]" for pad in padding)
    sums = out.add(
        f"stablehlo.convolution({image}, {kernel}) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->"
        f"[b, f, 0, 1], window = {{stride = {stride}, pad = [{pads}], rhs_dilate = {dilation}}} "
        f"{{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} "
        f": ({of_image.type}, {of_kernel.type}) -> {result.type}"
    )
    if bias is not None:
        sums = out.with_channels("add", sums, result, "%bias", bias, 1)
    return define_function(operator, ("x", "weight", "bias"), out.lines, sums)


def _max_pool(operator: Operator) -> str:
    (x,) = operator.tensors
    window, stride, padding, dilation = operator.numbers
    out = _Lines()
    least = out.add(f"stablehlo.constant dense<{_SIGNED[0]}> : tensor<i8>")
    pads = f"dense<[[0, 0], [0, 0], [{padding[0]}, {padding[0]}], [{padding[1]}, {padding[1]}]]>"
    pooled = out.add(
        f'"stablehlo.reduce_window"(%x, {least}) <{{padding = {pads} : tensor<4x2xi64>, '
        f"window_dilations = array<i64: 1, 1, {dilation[0]}, {dilation[1]}>, "
        f"window_dimensions = array<i64: 1, 1, {window[0]}, {window[1]}>, "
        f"window_strides = array<i64: 1, 1, {stride[0]}, {stride[1]}>}}> ({{\n"
        "^bb0(%a: tensor<i8>, %b: tensor<i8>):\n"
        "%larger = stablehlo.maximum %a, %b : tensor<i8>\n"
        "stablehlo.return %larger : tensor<i8>\n"
        f"}}) : ({x.type}, tensor<i8>) -> {operator.result.type}"
    )
    return define_function(operator, ("x",), out.lines, pooled)


def _matmul(operator: Operator) -> str:
    a, b, bias = operator.tensors
    (zero_points,) = operator.numbers
    result = operator.result
    out = _Lines()
    left, of_left = _centered(out, "%x", a, zero_points[0])
    right, of_right = _centered(out, "%weight", b, zero_points[1])
    is_batch = len(a.sizes) == 3
    dims = (
        "batching_dims = [0] x [0], contracting_dims = [2] x [1]"
        if is_batch
        else "contracting_dims = [1] x [0]"
    )
    sums = out.add(
        f"stablehlo.dot_general {left}, {right}, {dims} "
        f": ({of_left.type}, {of_right.type}) -> {result.type}"
    )
    if bias is not None:
        axis = len(result.sizes) - 1
        sums = out.with_channels("add", sums, result, "%bias", bias, axis)
    return define_function(operator, ("x", "weight", "bias"), out.lines, sums)


def _rescale(operator: Operator) -> str:
    x, multiplier, shift = operator.tensors
    axis, zero_points, _ = operator.numbers
    out = _Lines()
    value, wide = out.widened("%x", x, 64)
    if zero_points[0]:
        value = out.with_number("subtract", value, wide, zero_points[0])
    factor, of_factor = out.widened("%multiplier", multiplier, 64)
    bits, of_bits = out.widened("%shift", shift, 64)
    less = out.with_number("subtract", bits, of_bits, 1)
    ones = out.add(f"stablehlo.constant dense<1> : {of_bits.type}")
    half = out.add(f"stablehlo.shift_left {ones}, {less} : {of_bits.type}")
    value = out.with_channels("multiply", value, wide, factor, of_factor, axis)
    value = out.with_channels("add", value, wide, half, of_bits, axis)
    value = out.with_channels("shift_right_arithmetic", value, wide, bits, of_bits, axis)
    if zero_points[1]:
        value = out.with_number("add", value, wide, zero_points[1])
    if operator.result.bits == 8:
        low, high = _UNSIGNED if operator.result.is_unsigned else _SIGNED
        value = out.with_number("maximum", value, wide, low)
        value = out.with_number("minimum", value, wide, high)
    narrow = out.add(f"stablehlo.convert {value} : ({wide.type}) -> {operator.result.type}")
    return define_function(operator, ("x", "multiplier", "shift"), out.lines, narrow)


def _table(operator: Operator) -> str:
    x, values = operator.tensors
    out = _Lines()
    index, wide = out.widened("%x", x, 64)
    index = out.with_number("subtract", index, wide, _SIGNED[0])
    rank = len(x.sizes)
    found = out.add(
        f'"stablehlo.gather"(%values, {index}) <{{dimension_numbers = '
        f"#stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], "
        f"index_vector_dim = {rank}>, slice_sizes = array<i64: 1>}}> "
        f": ({values.type}, {wide.type}) -> {operator.result.type}"
    )
    return define_function(operator, ("x", "values"), out.lines, found)


def _centered(out: _Lines, name: str, tensor: Tensor, zero_point: int) -> tuple[str, Tensor]:
    """Returns 8-bit integers as i32, less their zero point."""
    name, wide = out.widened(name, tensor, 32)
    return out.with_number("subtract", name, wide, zero_point) if zero_point else name, wide
