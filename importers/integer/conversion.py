"""Replaces operators between dequantized operands and quantized results by integer forms."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from importers.integer import operators
from importers.integer.constants import Constants
from importers.integer.grid import DEQUANTIZE, QUANTIZE, Grid, grid_of
from importers.integer.kinds import CLAMPS, CONCATENATIONS, MAX_POOLS, MOVES
from importers.integer.operands import arguments_of, is_pointwise, layer_of

aten = torch.ops.aten

_NO_COMPUTATION = frozenset({operator.getitem, torch.ops.aten.sym_size.int})
# The number of bits by which the operands of a sum are scaled up, as in TensorFlow Lite.
_SUM_BITS = 20
# The difference between the unsigned and the signed integer of the same value.
_UNSIGNED = 128
# The largest difference between an 8-bit integer and a zero point.
_LARGEST = 255


@dataclass(frozen=True)
class Remainder:
    """An operator that stays in floating point.

    Attributes:
        operator: such as `aten.layer_norm`.
        layer: the name of the module that calls it; None if it is not known.
        reason: why it has no integer form here.
    """

    operator: str
    layer: str | None
    reason: str


class _NoForm(Exception):
    """An operator has no integer form; the message is the reason."""


def to_integers(module: GraphModule) -> tuple[Remainder, ...]:
    """Replaces floating-point operators of a graph with quantize and dequantize operators.

    An operator is replaced if its operands are dequantized tensors of 8 bits or constants, and its
    result, perhaps after a clamp, is quantized to 8 bits. The integer form is within one step of
    the scale of the result.

    Args:
        module: from `ExportedProgram.module()`; changed in place.

    Returns:
        The operators that stay in floating point.
    """
    conversion = _Conversion(module)
    conversion.run()
    return conversion.remainders()


class _Conversion:
    def __init__(self, module: GraphModule):
        self._module = module
        self._graph = module.graph
        self._constants = Constants(module)
        # By the floating-point node: its sums, and what they mean.
        self._sums: dict[Node, tuple[Node, float | list[float], int]] = {}
        # The integers of each dequantized or moved node.
        self._integers: dict[Node, tuple[Node, Grid]] = {}
        self._reasons: dict[Node, str] = {}
        # The signed integers that an unsigned tensor was converted from or to.
        self._signed: dict[Node, Node] = {}
        # The node that is being replaced: new nodes get its source line and layer.
        self._current: Node | None = None

    def run(self) -> None:
        for node in list(self._graph.nodes):
            if node.op != "call_function":
                continue
            self._current = node
            if node.target in DEQUANTIZE:
                self._dequantize(node)
            elif node.target in QUANTIZE and self._constants.value(node) is None:
                self._quantize(node)
            elif node.target in MOVES:
                self._move(node)
            elif node.target in MAX_POOLS:
                self._max_pool(node)
        self._graph.eliminate_dead_code()
        self._constants.remove_unused()
        self._graph.lint()
        self._module.recompile()

    def remainders(self) -> tuple[Remainder, ...]:
        """Returns the operators on floating-point tensors that are left, but for conversions."""
        found = []
        for node in self._graph.nodes:
            value = node.meta.get("val")
            if (
                node.op != "call_function"
                or node.target in (*QUANTIZE, *DEQUANTIZE)
                or node.target in MOVES | _NO_COMPUTATION
                or not isinstance(value, torch.Tensor)
                or self._constants.value(node) is not None
            ):
                continue
            operands = [each.meta.get("val") for each in node.all_input_nodes]
            tensors = [each for each in (value, *operands) if isinstance(each, torch.Tensor)]
            if any(each.is_floating_point() for each in tensors):
                reason = self._reasons.get(node) or self._why_not_quantized(node)
                found.append(Remainder(_name(node), layer_of(node), reason))
        return tuple(found)

    def _why_not_quantized(self, node: Node) -> str:
        if any(user.target in QUANTIZE for user in node.users):
            return "an operand is not quantized"
        return "its result is not quantized"

    # Signed and unsigned integers. The integer forms take and give signed ones.

    def _dequantize(self, node: Node) -> None:
        grid = grid_of(node, self._constants.value)
        integers = node.args[0]
        if grid is None or not isinstance(integers, Node):
            return
        if grid.dtype == torch.uint8:
            if integers not in self._signed:
                value = self._constants.value(integers)
                with self._graph.inserting_before(node):
                    if value is None:
                        points = _UNSIGNED, 0
                        signed = self._rescale(integers, 1.0, -1, points, torch.int8)
                    else:
                        signed = (value.int() - _UNSIGNED).to(torch.int8)
                        signed = self._constants.add(signed, "integers", node)
                self._signed[integers] = signed
            integers, grid = self._signed[integers], grid.shifted(-_UNSIGNED, torch.int8)
            if grid.is_single:
                with self._graph.inserting_before(node):
                    signed = self._call(DEQUANTIZE[0], integers, *grid.arguments)
                node.replace_all_uses_with(signed)
                node = signed
        self._integers[node] = integers, grid

    # Quantized results.

    def _quantize(self, node: Node) -> None:
        grid = grid_of(node, self._constants.value)
        source = node.args[0]
        if grid is None or not isinstance(source, Node):
            return
        is_unsigned = grid.dtype == torch.uint8
        self._current = _core(source)
        wanted = grid.shifted(-_UNSIGNED, torch.int8) if is_unsigned else grid
        with self._graph.inserting_before(node):
            integers = None
            try:
                integers = self._quantized(source, wanted)
            except (_NoForm, OverflowError) as problem:
                self._reasons[_core(source)] = str(problem)
            if is_unsigned and grid.is_single:
                signed = integers or self._call(QUANTIZE[0], source, *wanted.arguments)
                integers = self._rescale(signed, 1.0, -1, (0, _UNSIGNED), torch.uint8)
                self._signed[integers] = signed
        if integers is not None:
            node.replace_all_uses_with(integers)

    def _quantized(self, source: Node, grid: Grid) -> Node | None:
        """Returns the integers of a floating-point node, or None for an input of the program."""
        if source.op != "call_function":
            return None
        if not (grid.is_single and grid.has_eight_bits):
            raise _NoForm(f"its result is quantized to {grid.dtype}, per channel or not")
        if source in self._integers:
            return self._on_grid(*self._integers[source], grid)
        core, low, high = _without_clamps(source)
        bounds = grid.low, grid.high
        if low is not None:
            bounds = max(bounds[0], grid.integer(low)), bounds[1]
        if high is not None:
            bounds = bounds[0], min(bounds[1], grid.integer(high))
        if core in self._integers and self._integers[core][1] == grid:
            return self._clamped(self._integers[core][0], bounds, grid.dtype)
        table = self._as_table(source, grid)
        if table is not None:
            return table
        if core.target in CONCATENATIONS:
            return self._clamped(self._concatenation(core, grid), bounds, grid.dtype)
        sums, scales, axis = self._sums_of(core)
        scaled = self._rescale(sums, scales, axis, (0, grid.zero_point), grid.dtype, grid.scale)
        return self._clamped(scaled, bounds, grid.dtype)

    def _on_grid(self, integers: Node, old: Grid, new: Grid) -> Node:
        if old == new:
            return integers
        if not (old.is_single and old.has_eight_bits):
            raise _NoForm("its operand has a scale per channel")
        points = old.zero_point, new.zero_point
        scaled = self._rescale(integers, old.scale, -1, points, new.dtype, new.scale)
        return self._clamped(scaled, (new.low, new.high), new.dtype)

    def _clamped(self, integers: Node, bounds: tuple[int, int], dtype: torch.dtype) -> Node:
        limits = torch.iinfo(dtype)
        if bounds == (limits.min, limits.max):
            return integers
        return self._call(aten.clamp.default, integers, *bounds)

    def _rescale(
        self,
        sums: Node,
        scales: float | list[float],
        axis: int,
        zero_points: tuple[int, int],
        dtype: torch.dtype,
        result: float = 1.0,
    ) -> Node:
        """Multiplies integers by `scales / result`."""
        all_ = scales if isinstance(scales, list) else [scales]
        pairs = [operators.fixed_point(scale / result) for scale in all_]
        multipliers = self._constants.add(
            torch.tensor([pair[0] for pair in pairs], dtype=torch.int32),
            "multiplier",
            self._current,
        )
        shifts = self._constants.add(
            torch.tensor([pair[1] for pair in pairs], dtype=torch.int8), "shift", self._current
        )
        axis = axis if isinstance(scales, list) else -1
        return self._call(
            operators.rescale, sums, multipliers, shifts, axis, list(zero_points), dtype
        )

    # Functions of one integer.

    def _as_table(self, source: Node, grid: Grid) -> Node | None:
        """Returns a table lookup, if a node is a function of each integer of one tensor."""
        leaves = self._leaves(source)
        operands = {self._integers[leaf] for leaf in leaves or ()}
        if len(operands) != 1:
            return None
        ((integers, old),) = operands
        if not (old.is_single and old.has_eight_bits):
            return None
        limits = torch.iinfo(old.dtype)
        numbers = torch.arange(limits.min, limits.max + 1, dtype=torch.int32)
        values = (numbers - old.zero_point).float() * old.scale
        computed = self._evaluate(source, dict.fromkeys(leaves, values))
        quantized = torch.ops.quantized_decomposed.quantize_per_tensor(
            computed, grid.scale, grid.zero_point, grid.low, grid.high, grid.dtype
        )
        table = self._constants.add(quantized, "table", self._current)
        return self._call(operators.table, integers, table)

    def _leaves(self, node: Node) -> set[Node] | None:
        """Returns the dequantized nodes that a pointwise expression depends on, or None."""
        if node in self._integers:
            return {node}
        if not is_pointwise(node):
            return None
        found: set[Node] = set()
        for operand in node.all_input_nodes:
            constant = self._constants.value(operand)
            if constant is not None and constant.numel() == 1:
                continue
            leaves = self._leaves(operand) if constant is None else None
            if leaves is None:
                return None
            found |= leaves
        # Operands of different shapes broadcast, so they are not functions of one integer.
        shapes = {str(each.meta["val"].shape) for each in (node, *found)}
        return found if len(shapes) == 1 else None

    def _evaluate(self, node: Node, values: dict[Node, torch.Tensor]) -> torch.Tensor:
        if node not in values:
            constant = self._constants.value(node)
            if constant is not None:
                values[node] = constant.flatten()
            else:
                args, kwargs = torch.fx.map_arg(
                    (node.args, node.kwargs), lambda each: self._evaluate(each, values)
                )
                # Operators that work in place must not change the operand's values.
                args = tuple(a.clone() if isinstance(a, torch.Tensor) else a for a in args)
                values[node] = node.target(*args, **kwargs)
        return values[node]

    # Sums of products.

    def _sums_of(self, node: Node) -> tuple[Node, float | list[float], int]:
        """Returns an i32 node, the scales of its integers, and the axis of the scales."""
        if node not in self._sums:
            form = _FORMS.get(node.target) if node.op == "call_function" else None
            if form is None:
                raise _NoForm("it has no integer form")
            with self._graph.inserting_before(node):
                self._sums[node] = form(self, node)
        return self._sums[node]

    def _operand(self, node: Any, axes: Sequence[int] = ()) -> tuple[Node, Grid]:
        """Returns the integers of an operand.

        Args:
            axes: the axes that may have a scale for each index.
        """
        if not isinstance(node, Node) or node not in self._integers:
            raise _NoForm("an operand is not quantized")
        integers, grid = self._integers[node]
        if not grid.has_eight_bits:
            raise _NoForm(f"an operand has integers of type {grid.dtype}")
        if not grid.is_single and grid.axis not in axes:
            raise _NoForm(f"an operand has a scale for each index of axis {grid.axis}")
        if len(set(grid.zero_points)) > 1:
            raise _NoForm("an operand has a zero point per channel")
        return integers, grid

    def _weight(self, node: Any) -> tuple[Node, Grid]:
        """Returns the integers of a layer's weight, as a constant with the layer's name."""
        weight, grid = self._operand(node, (0,))
        value = self._constants.value(weight)
        return weight if value is None else self._constants.add(
            value, "weight_integers", self._current
        ), grid

    def _bias(self, node: Any, scales: float | list[float]) -> Node | None:
        if node is None:
            return None
        value = self._constants.value(node)
        if value is None:
            raise _NoForm("its bias is not a constant")
        integers = (value.double() / torch.tensor(scales, dtype=torch.float64)).round()
        if integers.abs().max() >= 2**31:
            raise _NoForm("its bias does not fit 32 bits")
        return self._constants.add(integers.int(), "bias_integers", self._current)

    def _convolution(self, node: Node) -> tuple[Node, float | list[float], int]:
        values = arguments_of(node)
        x, grid = self._operand(values["input"])
        weight, of_weight = self._weight(values["weight"])
        scales = _product(grid, of_weight)
        bias = self._bias(values.get("bias"), scales)
        _check_sums(math.prod(weight.meta["val"].shape[1:]), of_weight.largest)
        axes = node.meta["val"].dim() - 2
        options = [_all(values[name], axes) for name in ("stride", "padding", "dilation")]
        if axes == 1:
            x, weight = (self._call(aten.unsqueeze.default, each, 2) for each in (x, weight))
            options = [[neutral, *each] for each, neutral in zip(options, (1, 0, 1), strict=True)]
        points = [grid.zero_point, of_weight.zero_point]
        sums = self._call(
            operators.convolution, x, weight, bias, points, *options, values["groups"]
        )
        if axes == 1:
            sums = self._call(aten.squeeze.dim, sums, 2)
        return sums, scales, 1

    def _linear(self, node: Node) -> tuple[Node, float | list[float], int]:
        values = arguments_of(node)
        x, grid = self._operand(values["input"])
        weight, of_weight = self._weight(values["weight"])
        scales = _product(grid, of_weight)
        bias = self._bias(values.get("bias"), scales)
        _check_sums(weight.meta["val"].shape[1], of_weight.largest)
        rows = self._rows(x)
        columns = self._call(aten.permute.default, weight, [1, 0])
        points = [grid.zero_point, of_weight.zero_point]
        sums = self._call(operators.matmul, rows, columns, bias, points)
        return self._like(sums, node), scales, node.meta["val"].dim() - 1

    def _matmul(self, node: Node) -> tuple[Node, float | list[float], int]:
        values = arguments_of(node)
        names = [name for name in ("self", "input", "other", "mat2") if name in values]
        (a, of_a), (b, of_b) = (self._operand(values[name]) for name in names)
        if a.meta["val"].dim() < 2 or b.meta["val"].dim() < 2:
            raise _NoForm("it multiplies a vector")
        _check_sums(a.meta["val"].shape[-1], of_b.largest)
        if b.meta["val"].dim() == 2:
            a = self._rows(a)
        elif str(a.meta["val"].shape[:-2]) == str(b.meta["val"].shape[:-2]):
            a, b = self._batches(a), self._batches(b)
        else:
            raise _NoForm("its batches broadcast")
        sums = self._call(operators.matmul, a, b, None, [of_a.zero_point, of_b.zero_point])
        return self._like(sums, node), of_a.scale * of_b.scale, -1

    def _sum(self, node: Node) -> tuple[Node, float | list[float], int]:
        values = arguments_of(node)
        if values.get("alpha", 1) != 1:
            raise _NoForm("it has a factor alpha")
        operands = [self._operand(values[name]) for name in ("self", "other")]
        common = 2 * max(grid.scale for _, grid in operands)
        integers = [
            self._rescale(
                each, grid.scale / common * 2**_SUM_BITS, -1, (grid.zero_point, 0), torch.int32
            )
            for each, grid in operands
        ]
        subtracts = node.target in (aten.sub.Tensor, aten.sub_.Tensor)
        target = aten.sub.Tensor if subtracts else aten.add.Tensor
        return self._call(target, *integers), common / 2**_SUM_BITS, -1

    def _product(self, node: Node) -> tuple[Node, float | list[float], int]:
        values = arguments_of(node)
        operands = [self._operand(values[name]) for name in ("self", "other")]
        integers = [self._centered(each, grid) for each, grid in operands]
        scale = operands[0][1].scale * operands[1][1].scale
        return self._call(aten.mul.Tensor, *integers), scale, -1

    def _mean(self, node: Node) -> tuple[Node, float | list[float], int]:
        values = arguments_of(node)
        x, grid = self._operand(values["self"])
        shape = x.meta["val"].shape
        if node.target in (aten.mean.dim, aten.mean.default):
            # Without dimensions, the mean is over all of them.
            axes = values.get("dim") or range(len(shape))
            axes, keep = [each % len(shape) for each in axes], values.get("keepdim", False)
        elif all(size == 1 for size in values["output_size"]):
            axes, keep = list(range(len(shape)))[-len(values["output_size"]) :], True
        else:
            return self._adaptive_average(node, x, grid, list(values["output_size"]))
        count = 1
        for axis in axes:
            if not isinstance(shape[axis], int):
                raise _NoForm("it averages over a dynamic dimension")
            count *= shape[axis]
        _check_sums(count, 1)
        total = self._call(
            aten.sum.dim_IntList, self._centered(x, grid), axes, keep, dtype=torch.int32
        )
        return total, grid.scale / count, -1

    def _adaptive_average(
        self, node: Node, x: Node, grid: Grid, sizes: list[int]
    ) -> tuple[Node, float | list[float], int]:
        given = x.meta["val"].shape[-2:]
        if len(sizes) != 2 or any(
            not isinstance(old, int) or old % new for old, new in zip(given, sizes, strict=True)
        ):
            raise _NoForm("its windows differ in size")
        window = [old // new for old, new in zip(given, sizes, strict=True)]
        return self._averages(x, grid, window, window, [0, 0])

    def _average(self, node: Node) -> tuple[Node, float | list[float], int]:
        values = arguments_of(node)
        x, grid = self._operand(values["self"])
        window = _all(values["kernel_size"], 2)
        stride, padding = _all(values["stride"] or window, 2), _all(values["padding"], 2)
        if values["ceil_mode"] or values["divisor_override"] is not None:
            raise _NoForm("its windows differ in size")
        if any(padding) and not values["count_include_pad"]:
            raise _NoForm("its windows differ in size")
        return self._averages(x, grid, window, stride, padding)

    def _averages(
        self, x: Node, grid: Grid, window: list[int], stride: list[int], padding: list[int]
    ) -> tuple[Node, float | list[float], int]:
        """Averages windows of each channel, by a convolution with ones."""
        if x.meta["val"].dim() != 4:
            raise _NoForm("it has no batch")
        _check_sums(window[0] * window[1], 1)
        channels = x.meta["val"].shape[1]
        ones = self._constants.add(
            torch.ones(channels, 1, *window, dtype=torch.int8), "ones", self._current
        )
        sums = self._call(
            operators.convolution,
            x, ones, None, [grid.zero_point, 0], stride, padding, [1, 1], channels,
        )  # fmt: skip
        return sums, grid.scale / (window[0] * window[1]), -1

    # Operators that move elements.

    def _move(self, node: Node) -> None:
        source = node.args[0]
        if source not in self._integers or self._constants.value(node) is not None:
            return
        integers, grid = self._integers[source]
        if not grid.is_single or not grid.has_eight_bits:
            return
        if node.target == aten.dropout.default:
            if not arguments_of(node)["train"]:
                self._integers[node] = integers, grid
            return
        with self._graph.inserting_before(node):
            moved = self._call(node.target, integers, *node.args[1:], **node.kwargs)
        self._integers[node] = moved, grid

    def _max_pool(self, node: Node) -> None:
        values = arguments_of(node)
        x, grid = self._integers.get(values["self"], (None, None))
        axes = 2 if node.target == aten.max_pool2d.default else 1
        if x is None or not (grid.is_single and grid.has_eight_bits):
            return
        image = x.meta["val"].shape[2:]
        if len(image) != axes or (
            values["ceil_mode"] and not all(isinstance(size, int) for size in image)
        ):
            self._reasons[node] = "it has no batch, or a ceil_mode and dynamic sizes"
            return
        window = _all(values["kernel_size"], axes)
        options = [
            window,
            _all(values["stride"] or window, axes),
            _all(values["padding"], axes),
            _all(values["dilation"], axes),
        ]
        with self._graph.inserting_before(node):
            # Windows that end outside of the image: pad it on that side.
            outside = [
                (count - 1) * stride + step * (width - 1) + 1 - size - 2 * pad
                for count, size, width, stride, pad, step in zip(
                    node.meta["val"].shape[2:], image, *options, strict=True
                )
                if values["ceil_mode"]
            ]
            if any(lost > 0 for lost in outside):
                pads = [each for lost in reversed(outside) for each in (0, max(0, lost))]
                least = torch.iinfo(torch.int8).min
                x = self._call(aten.constant_pad_nd.default, x, pads, least)
            if axes == 1:
                x = self._call(aten.unsqueeze.default, x, 2)
                neutral = (1, 1, 0, 1)
                options = [[one, *each] for one, each in zip(neutral, options, strict=True)]
            pooled = self._call(operators.max_pool, x, *options)
            if axes == 1:
                pooled = self._call(aten.squeeze.dim, pooled, 2)
        self._integers[node] = pooled, grid

    def _concatenation(self, node: Node, grid: Grid) -> Node:
        parts = [self._on_grid(*self._operand(each), grid) for each in node.args[0]]
        return self._call(node.target, parts, *node.args[1:])

    # Nodes.

    def _call(self, target: Any, *args: Any, **kwargs: Any) -> Node:
        """Inserts a node, and computes its shape and dtype."""
        node = self._graph.call_function(target, args, kwargs)
        values = torch.fx.map_arg((args, kwargs), lambda each: each.meta["val"])
        with self._constants.fake_mode:
            node.meta["val"] = target(*values[0], **values[1])
        kept = ("stack_trace", "nn_module_stack", "source_fn_stack")
        node.meta |= {key: self._current.meta[key] for key in kept if key in self._current.meta}
        return node

    def _centered(self, integers: Node, grid: Grid) -> Node:
        return self._rescale(integers, 1.0, -1, (grid.zero_point, 0), torch.int32)

    def _rows(self, x: Node) -> Node:
        sizes = x.meta["val"].shape
        return x if len(sizes) == 2 else self._call(aten.flatten.using_ints, x, 0, len(sizes) - 2)

    def _batches(self, x: Node) -> Node:
        rank = x.meta["val"].dim()
        return x if rank <= 3 else self._call(aten.flatten.using_ints, x, 0, rank - 3)

    def _like(self, sums: Node, node: Node) -> Node:
        """Gives sums the leading dimensions of a node's result, of which one may be dynamic."""
        sizes = node.meta["val"].shape
        if len(sizes) == sums.meta["val"].dim():
            return sums
        dynamic = [index for index, size in enumerate(sizes) if not isinstance(size, int)]
        if len(dynamic) > 1:
            raise _NoForm("it has several dynamic dimensions")
        return self._call(
            aten.view.default, sums, [-1 if i in dynamic else size for i, size in enumerate(sizes)]
        )


_FORMS: dict[Any, Callable[[_Conversion, Node], tuple[Node, float | list[float], int]]] = {
    aten.conv1d.default: _Conversion._convolution,
    aten.conv2d.default: _Conversion._convolution,
    aten.linear.default: _Conversion._linear,
    aten.matmul.default: _Conversion._matmul,
    aten.mm.default: _Conversion._matmul,
    aten.bmm.default: _Conversion._matmul,
    aten.add.Tensor: _Conversion._sum,
    aten.add_.Tensor: _Conversion._sum,
    aten.sub.Tensor: _Conversion._sum,
    aten.sub_.Tensor: _Conversion._sum,
    aten.mul.Tensor: _Conversion._product,
    aten.mul_.Tensor: _Conversion._product,
    aten.mean.default: _Conversion._mean,
    aten.mean.dim: _Conversion._mean,
    aten.adaptive_avg_pool1d.default: _Conversion._mean,
    aten.adaptive_avg_pool2d.default: _Conversion._mean,
    aten.avg_pool2d.default: _Conversion._average,
}


def _without_clamps(node: Node) -> tuple[Node, float | None, float | None]:
    """Returns the operator whose result a chain of clamps bounds, and the bounds."""
    low, high = None, None
    while node.op == "call_function" and node.target in CLAMPS:
        # The clamps found so far apply to the bounds of this one.
        least, most = (_bounded(bound, low, high) for bound in _bounds(node))
        low, high = low if least is None else least, high if most is None else most
        node = node.args[0]
    return node, low, high


def _bounded(value: float | None, low: float | None, high: float | None) -> float | None:
    if value is None:
        return None
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def _bounds(node: Node) -> tuple[float | None, float | None]:
    name = node.target._schema.name
    if "relu6" in name:
        return 0.0, 6.0
    if "relu" in name:
        return 0.0, None
    values = arguments_of(node)
    low = values.get("min_val", values.get("min"))
    high = values.get("max_val", values.get("max"))
    return low, high


def _check_sums(terms: int, factor: int) -> None:
    """Raises _NoForm if sums of products of 8-bit integers can exceed 32 bits.

    Args:
        terms: the number of terms, which may be dynamic.
        factor: the largest second factor.
    """
    if not isinstance(terms, int) or terms * _LARGEST * factor >= 2**31:
        raise _NoForm(f"its sums of {terms} products may exceed 32 bits")


def _core(node: Node) -> Node:
    return _without_clamps(node)[0]


def _product(grid: Grid, of_weight: Grid) -> float | list[float]:
    scales = [grid.scale * scale for scale in of_weight.scales]
    return scales[0] if of_weight.is_single else scales


def _all(values: Any, count: int) -> list[Any]:
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    return values * count if len(values) == 1 else values


def _name(node: Node) -> str:
    return str(node.target).removesuffix(".default")
