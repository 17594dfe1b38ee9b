"""Integer programs in linalg: named operations with zero points, and rescaling as a generic."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.integers.operators import Operator, Tensor, define_function, lower_operators

# The least i8.
_LEAST = -128
# From NCHW to NHWC, and back.
_LAST, _FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


def integers_to_linalg(module: ir.Module) -> None:
    """Lowers the operators of integer programs in a module at `torch` to linalg."""
    lower_operators(
        module,
        "convert-torch-to-linalg",
        {
            "integer_convolution": _convolution,
            "integer_max_pool": _max_pool,
            "integer_matmul": _matmul,
            "rescale": _rescale,
            "table": _table,
        },
    )


def _convolution(operator: Operator) -> str:
    x, weight, bias = operator.tensors
    zero_points, stride, padding, dilation, groups = operator.numbers
    result = operator.result
    name, padded, pads = _padded(x, padding, zero_points[0])
    lines = [*_constants(zero_points), *_sizes(operator), *pads]
    attributes = (
        f"{{dilations = dense<{dilation}> : tensor<2xi64>, "
        f"strides = dense<{stride}> : tensor<2xi64>}}"
    )
    is_depthwise = groups == x.sizes[1] == weight.sizes[0] and None not in x.sizes[1:]
    if is_depthwise:
        lines += _depthwise(name, padded, weight, result, bias, attributes)
        return define_function(operator, ("x", "weight", "bias"), lines, "%sums")
    lines += _initial(result, bias, 1)
    if groups == 1:
        lines.append(
            f"%sums = linalg.conv_2d_nchw_fchw_q {attributes} "
            f"ins({name}, %weight, %zx, %zw : {padded.type}, {weight.type}, i32, i32) "
            f"outs(%initial : {result.type}) -> {result.type}"
        )
    else:
        lines += _grouped(name, padded, weight, result, groups, attributes)
    return define_function(operator, ("x", "weight", "bias"), lines, "%sums")


def _depthwise(
    name: str, x: Tensor, weight: Tensor, result: Tensor, bias: Tensor | None, attributes: str
) -> list[str]:
    """Convolves each channel with its own filter. The named operation for this is NHWC."""
    channels, _, *kernel = weight.sizes
    of_filters = weight.with_sizes([channels, *kernel])
    images, of_images, moved = _transposed("images", name, x, _LAST)
    filters, of_kernel, transposed = _transposed("kernel", "%filters", of_filters, [1, 2, 0])
    of_sums = result.with_sizes([result.sizes[axis] for axis in _LAST])
    _, _, back = _transposed("sums", "%last", of_sums, _FIRST)
    return [
        *moved,
        f"%filters = tensor.collapse_shape %weight [[0, 1], [2], [3]] : {weight.type} "
        f"into {of_filters.type}",
        *transposed,
        *_initial(of_sums, bias, 3),
        f"%last = linalg.depthwise_conv_2d_nhwc_hwc_q {attributes} "
        f"ins({images}, {filters}, %zx, %zw : {of_images.type}, {of_kernel.type}, i32, i32) "
        f"outs(%initial : {of_sums.type}) -> {of_sums.type}",
        *back,
    ]


def _transposed(
    name: str, value: str, tensor: Tensor, order: list[int]
) -> tuple[str, Tensor, list[str]]:
    """Returns the name and type of a transposed value, and the operations that transpose it."""
    new = tensor.with_sizes([tensor.sizes[axis] for axis in order])
    lines, sizes = [], []
    for axis, size in zip(order, new.sizes, strict=True):
        if size is None:
            lines += [
                f"%{name}_axis{axis} = arith.constant {axis} : index",
                f"%{name}_size{axis} = tensor.dim {value}, %{name}_axis{axis} : {tensor.type}",
            ]
            sizes.append(f"%{name}_size{axis}")
    lines += [
        f"%{name}_empty = tensor.empty({', '.join(sizes)}) : {new.type}",
        f"%{name} = linalg.transpose ins({value} : {tensor.type}) "
        f"outs(%{name}_empty : {new.type}) permutation = {order}",
    ]
    return f"%{name}", new, lines


def _max_pool(operator: Operator) -> str:
    (x,) = operator.tensors
    window, stride, padding, dilation = operator.numbers
    result = operator.result
    name, padded, pads = _padded(x, padding, _LEAST)
    kind = f"tensor<{window[0]}x{window[1]}xi8>"
    lines = [
        *_sizes(operator),
        *pads,
        f"%empty = tensor.empty({_dynamic(result)}) : {result.type}",
        f"%least = arith.constant {_LEAST} : i8",
        f"%initial = linalg.fill ins(%least : i8) outs(%empty : {result.type}) -> {result.type}",
        f"%window = tensor.empty() : {kind}",
        f"%pooled = linalg.pooling_nchw_max {{dilations = dense<{dilation}> : tensor<2xi64>, "
        f"strides = dense<{stride}> : tensor<2xi64>}} ins({name}, %window : {padded.type}, {kind}) "
        f"outs(%initial : {result.type}) -> {result.type}",
    ]
    return define_function(operator, ("x",), lines, "%pooled")


def _padded(x: Tensor, padding: list[int], value: int) -> tuple[str, Tensor, list[str]]:
    """Returns the name and type of padded images, and the operations that pad them."""
    if not any(padding):
        return "%x", x, []
    around = f"0, 0, {padding[0]}, {padding[1]}"
    image = (
        None if size is None else size + 2 * pad
        for size, pad in zip(x.sizes[2:], padding, strict=True)
    )
    padded = x.with_sizes([*x.sizes[:2], *image])
    lines = [
        f"%pad = arith.constant {value} : i8",
        f"%padded = tensor.pad %x low[{around}] high[{around}] {{",
        "^bb0(%i: index, %j: index, %k: index, %l: index):",
        "tensor.yield %pad : i8",
        f"}} : {x.type} to {padded.type}",
    ]
    return "%padded", padded, lines


def _grouped(
    name: str, x: Tensor, weight: Tensor, result: Tensor, groups: int, attributes: str
) -> list[str]:
    batch, channels, *image = x.sizes
    filters, depth, *kernel = weight.sizes
    of_x = x.with_sizes([batch, groups, channels // groups, *image])
    of_weight = weight.with_sizes([groups, filters // groups, depth, *kernel])
    of_result = result.with_sizes([result.sizes[0], groups, filters // groups, *result.sizes[2:]])
    split = "[[0], [1, 2], [3], [4]]"
    rows = [f"groups_of_{each}" for each in ("x", "weight", "initial")]
    lines = []
    for row, value, old, new, dims in (
        (rows[0], name, x.type, of_x, split),
        (rows[1], "%weight", weight.type, of_weight, "[[0, 1], [2], [3], [4]]"),
        (rows[2], "%initial", result.type, of_result, split),
    ):
        shape, prefix = [], []
        for axis, size in enumerate(new.sizes):
            if size is None:
                source = axis if axis == 0 else axis - 1
                prefix += [
                    f"%{row}_axis{axis} = arith.constant {source} : index",
                    f"%{row}_size{axis} = tensor.dim {value}, %{row}_axis{axis} : {old}",
                ]
                shape.append(f"%{row}_size{axis}")
            else:
                shape.append(str(size))
        lines += [
            *prefix,
            f"%{row} = tensor.expand_shape {value} {dims} output_shape [{', '.join(shape)}] : "
            f"{old} into {new.type}",
        ]
    return [
        *lines,
        f"%groups_of_sums = linalg.conv_2d_ngchw_gfchw_q {attributes} "
        f"ins(%{rows[0]}, %{rows[1]}, %zx, %zw : {of_x.type}, {of_weight.type}, i32, i32) "
        f"outs(%{rows[2]} : {of_result.type}) -> {of_result.type}",
        f"%sums = tensor.collapse_shape %groups_of_sums {split} : {of_result.type} "
        f"into {result.type}",
    ]


def _matmul(operator: Operator) -> str:
    a, b, bias = operator.tensors
    (zero_points,) = operator.numbers
    result = operator.result
    is_batch = len(a.sizes) == 3
    name = "quantized_batch_matmul" if is_batch else "quantized_matmul"
    lines = [
        *_constants(zero_points),
        *_sizes(operator),
        *_initial(result, bias, len(result.sizes) - 1),
        f"%sums = linalg.{name} ins(%x, %weight, %zx, %zw : {a.type}, {b.type}, i32, i32) "
        f"outs(%initial : {result.type}) -> {result.type}",
    ]
    return define_function(operator, ("x", "weight", "bias"), lines, "%sums")


def _rescale(operator: Operator) -> str:
    x, multiplier, _ = operator.tensors
    axis, zero_points, _ = operator.numbers
    result = operator.result
    every = ", ".join(f"d{index}" for index in range(len(x.sizes)))
    of_all = f"affine_map<({every}) -> ({every})>"
    of_one = f"affine_map<({every}) -> ({f'd{axis}' if axis >= 0 else '0'})>"
    parallel = ", ".join(['"parallel"'] * len(x.sizes))
    extend = "arith.extui" if x.is_unsigned else "arith.extsi"
    lines = [
        *_sizes(operator),
        f"%empty = tensor.empty({_dynamic(result)}) : {result.type}",
        f"%zx = arith.constant {zero_points[0]} : i64",
        f"%zy = arith.constant {zero_points[1]} : i64",
        "%one = arith.constant 1 : i64",
        *_limits(result),
        f"%scaled = linalg.generic {{indexing_maps = [{of_all}, {of_one}, {of_one}, {of_all}], "
        f"iterator_types = [{parallel}]}} "
        f"ins(%x, %multiplier, %shift : {x.type}, {multiplier.type}, "
        f"{operator.tensors[2].type}) outs(%empty : {result.type}) {{",
        f"^bb0(%value: i{x.bits}, %factor: i32, %bits: i8, %old: i{result.bits}):",
        f"%wide = {extend} %value : i{x.bits} to i64",
        "%centered = arith.subi %wide, %zx : i64",
        "%wide_factor = arith.extsi %factor : i32 to i64",
        "%product = arith.muli %centered, %wide_factor : i64",
        "%wide_bits = arith.extui %bits : i8 to i64",
        "%half_bits = arith.subi %wide_bits, %one : i64",
        "%half = arith.shli %one, %half_bits : i64",
        "%rounded = arith.addi %product, %half : i64",
        "%shifted = arith.shrsi %rounded, %wide_bits : i64",
        "%moved = arith.addi %shifted, %zy : i64",
    ]
    last = "%moved"
    if result.bits == 8:
        lines += [
            "%above = arith.maxsi %moved, %low : i64",
            "%within = arith.minsi %above, %high : i64",
        ]
        last = "%within"
    lines += [
        f"%narrow = arith.trunci {last} : i64 to i{result.bits}",
        f"linalg.yield %narrow : i{result.bits}",
        f"}} -> {result.type}",
    ]
    return define_function(operator, ("x", "multiplier", "shift"), lines, "%scaled")


def _table(operator: Operator) -> str:
    x, values = operator.tensors
    result = operator.result
    every = ", ".join(f"d{index}" for index in range(len(x.sizes)))
    of_all = f"affine_map<({every}) -> ({every})>"
    parallel = ", ".join(['"parallel"'] * len(x.sizes))
    lines = [
        *_sizes(operator),
        f"%empty = tensor.empty({_dynamic(result)}) : {result.type}",
        "%offset = arith.constant 128 : index",
        f"%found = linalg.generic {{indexing_maps = [{of_all}, {of_all}], "
        f"iterator_types = [{parallel}]}} ins(%x : {x.type}) outs(%empty : {result.type}) {{",
        f"^bb0(%value: i8, %old: i{result.bits}):",
        "%signed = arith.index_cast %value : i8 to index",
        "%index = arith.addi %signed, %offset : index",
        f"%element = tensor.extract %values[%index] : {values.type}",
        f"linalg.yield %element : i{result.bits}",
        f"}} -> {result.type}",
    ]
    return define_function(operator, ("x", "values"), lines, "%found")


# Parts of functions.


def _constants(zero_points: list[int]) -> list[str]:
    return [
        f"%zx = arith.constant {zero_points[0]} : i32",
        f"%zw = arith.constant {zero_points[1]} : i32",
    ]


def _sizes(operator: Operator) -> list[str]:
    """Computes the dynamic sizes of the result, `%size0` and so on."""
    lines = []
    x = operator.tensors[0]
    for axis, size in enumerate(operator.result.sizes):
        if size is not None:
            continue
        is_column = operator.name == "integer_matmul" and axis == len(x.sizes) - 1
        name, source = ("%weight", operator.tensors[1]) if is_column else ("%x", x)
        lines += [
            f"%axis{axis} = arith.constant {axis} : index",
            f"%given{axis} = tensor.dim {name}, %axis{axis} : {source.type}",
        ]
        if operator.name in ("integer_convolution", "integer_max_pool") and axis >= 2:
            if operator.name == "integer_convolution":
                _, stride, padding, dilation, _ = operator.numbers
                window = operator.tensors[1].sizes[2:]
            else:
                window, stride, padding, dilation = operator.numbers
            at = axis - 2
            lost = 2 * padding[at] - dilation[at] * (window[at] - 1) - 1
            lines += [
                f"%lost{axis} = arith.constant {lost} : index",
                f"%step{axis} = arith.constant {stride[at]} : index",
                f"%unit{axis} = arith.constant 1 : index",
                f"%room{axis} = arith.addi %given{axis}, %lost{axis} : index",
                f"%steps{axis} = arith.divsi %room{axis}, %step{axis} : index",
                f"%size{axis} = arith.addi %steps{axis}, %unit{axis} : index",
            ]
        else:
            lines += [
                f"%none{axis} = arith.constant 0 : index",
                f"%size{axis} = arith.addi %given{axis}, %none{axis} : index",
            ]
    return lines


def _dynamic(tensor: Tensor) -> str:
    return ", ".join(f"%size{axis}" for axis, size in enumerate(tensor.sizes) if size is None)


def _initial(result: Tensor, bias: Tensor | None, axis: int) -> list[str]:
    """Creates the initial sums: zeros, or the bias of each index of `axis`."""
    empty = f"%empty = tensor.empty({_dynamic(result)}) : {result.type}"
    if bias is None:
        return [
            empty,
            "%zero = arith.constant 0 : i32",
            f"%initial = linalg.fill ins(%zero : i32) outs(%empty : {result.type}) "
            f"-> {result.type}",
        ]
    others = [index for index in range(len(result.sizes)) if index != axis]
    return [
        empty,
        f"%initial = linalg.broadcast ins(%bias : {bias.type}) outs(%empty : {result.type}) "
        f"dimensions = {others}",
    ]


def _limits(result: Tensor) -> list[str]:
    if result.bits != 8:
        return []
    low, high = (0, 255) if result.is_unsigned else (-128, 127)
    return [f"%low = arith.constant {low} : i64", f"%high = arith.constant {high} : i64"]
