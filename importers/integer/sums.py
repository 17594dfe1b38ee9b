"""Sums of products, and other operators whose integer form gives 32-bit integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from importers import integer_operators as operators
from importers.integer.grid import Grid
from importers.integer.nodes import NodeBuilder
from importers.integer.operands import all_axes, arguments_of, layer_of

aten = torch.ops.aten

# The number of bits by which the operands of a sum are scaled up, as in TensorFlow Lite.
_SUM_BITS = 20
# The largest difference between an 8-bit integer and a zero point.
_LARGEST = 255


class NoForm(Exception):
    """An operator has no integer form; the message is the reason."""


class SumBuilder(NodeBuilder):
    """Builds the 32-bit sums of an operator from the integers of its operands."""

    def __init__(self, module: GraphModule):
        super().__init__(module)
        # For each dequantized or moved node: its integers, and the numbers that they stand for.
        self._integers: dict[Node, tuple[Node, Grid]] = {}
        # For each floating-point node: its sums, their scales, and the axis of the scales.
        self._sums: dict[Node, tuple[Node, float | list[float], int]] = {}

    def _sums_of(self, node: Node) -> tuple[Node, float | list[float], int]:
        """Returns an i32 node, the scales of its integers, and the axis of the scales."""
        if node not in self._sums:
            form = _FORMS.get(node.target) if node.op == "call_function" else None
            if form is None:
                raise NoForm("it has no integer form")
            with self._graph.inserting_before(node):
                self._sums[node] = form(self, node)
        return self._sums[node]

    def _operand(self, node: Any, axes: Sequence[int] = ()) -> tuple[Node, Grid]:
        """Returns the integers of an operand.

        Args:
            axes: the axes that may have a scale for each index.
        """
        if not isinstance(node, Node) or node not in self._integers:
            raise NoForm("an operand is not quantized")
        integers, grid = self._integers[node]
        if not grid.is_int8:
            raise NoForm(f"an operand has integers of type {grid.dtype}")
        if not grid.is_single and grid.axis not in axes:
            raise NoForm(f"an operand has a scale for each index of axis {grid.axis}")
        if len(set(grid.zero_points)) > 1:
            raise NoForm("an operand has a zero point per channel")
        return integers, grid

    def _weight(self, node: Any) -> tuple[Node, Grid]:
        """Returns the integers of a layer's weight, as a constant with the layer's name."""
        weight, grid = self._operand(node, (0,))
        value = self._constants.value(weight)
        # The operators of a file have no layer, but its tensors have names.
        if value is None or layer_of(self._current) is None:
            return weight, grid
        return self._constants.add(value, "weight_integers", self._current), grid

    def _bias(self, node: Any, scales: float | list[float]) -> Node | None:
        if node is None:
            return None
        value = self._constants.value(node)
        if value is None:
            raise NoForm("its bias is not a constant")
        integers, grid = self._integers.get(node, (None, None))
        if grid is not None and grid.dtype == torch.int32 and _is_product(grid, scales):
            return integers
        integers = (value.double() / torch.tensor(scales, dtype=torch.float64)).round()
        if integers.abs().max() >= 2**31:
            raise NoForm("its bias does not fit 32 bits")
        return self._constants.add(integers.int(), "bias_integers", self._current)

    def _layer(
        self, values: Mapping[str, Any]
    ) -> tuple[Node, Node, Node | None, list[int], float | list[float]]:
        """Returns the input, weight and bias of a layer, the zero points, and the sums' scales."""
        x, grid = self._operand(values["input"])
        weight, of_weight = self._weight(values["weight"])
        scales = _product(grid, of_weight)
        bias = self._bias(values.get("bias"), scales)
        _check_sums(math.prod(weight.meta["val"].shape[1:]), of_weight.largest)
        return x, weight, bias, [grid.zero_point, of_weight.zero_point], scales

    def _convolution(self, node: Node) -> tuple[Node, float | list[float], int]:
        values = arguments_of(node)
        x, weight, bias, points, scales = self._layer(values)
        axes = node.meta["val"].dim() - 2
        options = [all_axes(values[name], axes) for name in ("stride", "padding", "dilation")]
        if axes == 1:
            x, weight = (self._call(aten.unsqueeze.default, each, 2) for each in (x, weight))
            options = [[neutral, *each] for each, neutral in zip(options, (1, 0, 1), strict=True)]
        sums = self._call(
            operators.convolution, x, weight, bias, points, *options, values["groups"]
        )
        if axes == 1:
            sums = self._call(aten.squeeze.dim, sums, 2)
        return sums, scales, 1

    def _linear(self, node: Node) -> tuple[Node, float | list[float], int]:
        x, weight, bias, points, scales = self._layer(arguments_of(node))
        rows = self._rows(x)
        columns = self._call(aten.permute.default, weight, [1, 0])
        sums = self._call(operators.matmul, rows, columns, bias, points)
        return self._like(sums, node), scales, node.meta["val"].dim() - 1

    def _matmul(self, node: Node) -> tuple[Node, float | list[float], int]:
        values = arguments_of(node)
        names = [name for name in ("self", "input", "other", "mat2") if name in values]
        a, of_a = self._operand(values[names[0]])
        # A matrix of weights may have a scale for each column.
        b, of_b = self._operand(values[names[1]], (1,) if _rank(values[names[1]]) == 2 else ())
        if a.meta["val"].dim() < 2 or b.meta["val"].dim() < 2:
            raise NoForm("it multiplies a vector")
        _check_sums(a.meta["val"].shape[-1], of_b.largest)
        if b.meta["val"].dim() == 2:
            a = self._rows(a)
        elif str(a.meta["val"].shape[:-2]) == str(b.meta["val"].shape[:-2]):
            a, b = self._batches(a), self._batches(b)
        else:
            raise NoForm("its batches broadcast")
        sums = self._call(operators.matmul, a, b, None, [of_a.zero_point, of_b.zero_point])
        return self._like(sums, node), _product(of_a, of_b), _rank(node) - 1

    def _sum(self, node: Node) -> tuple[Node, float | list[float], int]:
        values = arguments_of(node)
        if values.get("alpha", 1) != 1:
            raise NoForm("it has a factor alpha")
        for product, bias in ((values["self"], values["other"]), (values["other"], values["self"])):
            if self._is_bias(bias, product) and node.target in (aten.add.Tensor, aten.add_.Tensor):
                sums, scales, axis = self._sums_of(product)
                return self._call(aten.add.Tensor, sums, self._bias(bias, scales)), scales, axis
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

    def _is_bias(self, bias: Any, product: Any) -> bool:
        """Returns whether a sum adds a vector of constants to the rows of a product of matrices."""
        value = self._constants.value(bias) if isinstance(bias, Node) else None
        return (
            value is not None
            and isinstance(product, Node)
            and product.target in _MATRIX_PRODUCTS
            and product not in self._integers
            and tuple(value.shape) == (product.meta["val"].shape[-1],)
        )

    def _product(self, node: Node) -> tuple[Node, float | list[float], int]:
        values = arguments_of(node)
        factor = self._number(values["other"])
        if factor is not None and factor > 0 and values["self"] not in self._integers:
            sums, scales, axis = self._sums_of(values["self"])
            if isinstance(scales, list):
                return sums, [scale * factor for scale in scales], axis
            return sums, scales * factor, axis
        operands = [self._operand(values[name]) for name in ("self", "other")]
        integers = [self._centered(each, grid) for each, grid in operands]
        scale = operands[0][1].scale * operands[1][1].scale
        return self._call(aten.mul.Tensor, *integers), scale, -1

    def _number(self, value: Any) -> float | None:
        """Returns a number in Python or a constant with one element; else None."""
        if not isinstance(value, Node):
            return float(value)
        constant = self._constants.value(value)
        return float(constant) if constant is not None and constant.numel() == 1 else None

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
                raise NoForm("it averages over a dynamic dimension")
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
            raise NoForm("its windows differ in size")
        window = [old // new for old, new in zip(given, sizes, strict=True)]
        return self._averages(x, grid, window, window, [0, 0])

    def _average(self, node: Node) -> tuple[Node, float | list[float], int]:
        values = arguments_of(node)
        x, grid = self._operand(values["self"])
        window = all_axes(values["kernel_size"], 2)
        stride, padding = all_axes(values["stride"] or window, 2), all_axes(values["padding"], 2)
        if values["divisor_override"] is not None:
            raise NoForm("its divisor is not the number of elements")
        if values["ceil_mode"] or (any(padding) and not values["count_include_pad"]):
            raise NoForm("its windows differ in size")
        return self._averages(x, grid, window, stride, padding)

    def _averages(
        self, x: Node, grid: Grid, window: list[int], stride: list[int], padding: list[int]
    ) -> tuple[Node, float | list[float], int]:
        """Averages windows of each channel, by a convolution with ones."""
        if x.meta["val"].dim() != 4:
            raise NoForm("it has no batch")
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

    def _like(self, sums: Node, node: Node) -> Node:
        """Reshapes sums to the sizes of a node's result. At most one size may be dynamic."""
        sizes = node.meta["val"].shape
        if len(sizes) == sums.meta["val"].dim():
            return sums
        dynamic = [index for index, size in enumerate(sizes) if not isinstance(size, int)]
        if len(dynamic) > 1:
            raise NoForm("it has several dynamic dimensions")
        return self._call(
            aten.view.default, sums, [-1 if i in dynamic else size for i, size in enumerate(sizes)]
        )


_FORMS: dict[Any, Callable[[SumBuilder, Node], tuple[Node, float | list[float], int]]] = {
    aten.conv1d.default: SumBuilder._convolution,
    aten.conv2d.default: SumBuilder._convolution,
    aten.linear.default: SumBuilder._linear,
    aten.matmul.default: SumBuilder._matmul,
    aten.mm.default: SumBuilder._matmul,
    aten.bmm.default: SumBuilder._matmul,
    aten.add.Tensor: SumBuilder._sum,
    aten.add_.Tensor: SumBuilder._sum,
    aten.sub.Tensor: SumBuilder._sum,
    aten.sub_.Tensor: SumBuilder._sum,
    aten.mul.Tensor: SumBuilder._product,
    aten.mul_.Tensor: SumBuilder._product,
    aten.mean.default: SumBuilder._mean,
    aten.mean.dim: SumBuilder._mean,
    aten.adaptive_avg_pool1d.default: SumBuilder._mean,
    aten.adaptive_avg_pool2d.default: SumBuilder._mean,
    aten.avg_pool2d.default: SumBuilder._average,
}


_MATRIX_PRODUCTS = (aten.matmul.default, aten.mm.default)


def _rank(node: Node) -> int:
    return node.meta["val"].dim()


def _is_product(grid: Grid, scales: float | list[float]) -> bool:
    """Returns whether a bias has the scales of the sums, and the zero point 0.

    Files store scales in f32, so the scales may differ by rounding.
    """
    wanted = torch.tensor(scales, dtype=torch.float64).reshape(-1)
    given = torch.tensor(grid.scales, dtype=torch.float64)
    is_like = len(given) in (1, len(wanted)) and set(grid.zero_points) == {0}
    return is_like and bool(torch.allclose(given, wanted, rtol=1e-6, atol=0))


def _check_sums(terms: int, factor: int) -> None:
    """Raises NoForm if sums of products of 8-bit integers can exceed 32 bits.

    Args:
        terms: the number of terms, which may be dynamic.
        factor: the largest magnitude of the second factor of a product.
    """
    if not isinstance(terms, int) or terms * _LARGEST * factor >= 2**31:
        raise NoForm(f"its sums of {terms} products may exceed 32 bits")


def _product(grid: Grid, of_weight: Grid) -> float | list[float]:
    scales = [grid.scale * scale for scale in of_weight.scales]
    return scales[0] if of_weight.is_single else scales
