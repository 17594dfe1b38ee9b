"""Replaces operators between dequantized operands and quantized results by integer forms."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace

import torch
from torch.fx import GraphModule, Node

from importers import integer_operators as operators
from importers.integer.grid import DEQUANTIZE, QUANTIZE, Grid, grid_of
from importers.integer.kinds import CLAMPS, CONCATENATIONS, MAX_POOLS, MOVES, PADS
from importers.integer.operands import all_axes, arguments_of, is_pointwise, layer_of
from importers.integer.sums import NoForm, SumBuilder

aten = torch.ops.aten

_NO_COMPUTATION = frozenset({operator.getitem, torch.ops.aten.sym_size.int})
_TRANSPOSITIONS = (aten.t.default, aten.permute.default, aten.transpose.int)
# The difference between the unsigned and the signed integer of the same value.
_UNSIGNED = 128


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


class _Conversion(SumBuilder):
    def __init__(self, module: GraphModule):
        super().__init__(module)
        # For each operator that stays in floating point: the reason.
        self._reasons: dict[Node, str] = {}
        # For each unsigned tensor: the signed integers that it was converted from or to.
        self._signed: dict[Node, Node] = {}

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
            elif node.target in PADS:
                self._pad(node)
            elif node.target in MAX_POOLS:
                self._max_pool(node)
        self._graph.eliminate_dead_code()
        self._constants.remove_unused()
        self._graph.lint()
        self._module.recompile()

    def remainders(self) -> tuple[Remainder, ...]:
        """Returns the operators that still compute in floating point, except conversions."""
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

    # Dequantize operators. The integer forms take and return signed integers.

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
            except (NoForm, OverflowError) as problem:
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
        if not (grid.is_single and grid.is_int8):
            raise NoForm(f"its result is quantized to {grid.dtype}, per channel or not")
        if source in self._integers:
            return self._on_grid(*self._integers[source], grid)
        if _is_move(source):
            integers = self._quantized(source.args[0], grid)
            return integers and self._call(source.target, integers, *source.args[1:])
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
        if not (old.is_single and old.is_int8):
            raise NoForm("its operand has a scale per channel")
        points = old.zero_point, new.zero_point
        scaled = self._rescale(integers, old.scale, -1, points, new.dtype, new.scale)
        return self._clamped(scaled, (new.low, new.high), new.dtype)

    # Functions of one integer.

    def _as_table(self, source: Node, grid: Grid) -> Node | None:
        """Returns a table lookup, if a node is a function of each integer of one tensor."""
        leaves = self._leaves(source)
        operands = {self._integers[leaf] for leaf in leaves or ()}
        if len(operands) != 1:
            return None
        ((integers, old),) = operands
        if not (old.is_single and old.is_int8):
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

    # Operators that move elements.

    def _move(self, node: Node) -> None:
        source = node.args[0]
        if source not in self._integers:
            return
        integers, grid = self._integers[source]
        if self._constants.value(node) is not None:
            self._transpose_weight(node, integers, grid)
            return
        if not grid.is_single or not grid.is_int8:
            return
        if node.target == aten.dropout.default:
            if not arguments_of(node)["train"]:
                self._integers[node] = integers, grid
            return
        with self._graph.inserting_before(node):
            moved = self._call(node.target, integers, *node.args[1:], **node.kwargs)
        self._integers[node] = moved, grid

    def _transpose_weight(self, node: Node, weight: Node, grid: Grid) -> None:
        if node.target not in _TRANSPOSITIONS or weight.meta["val"].dim() != 2:
            return
        value = node.target(self._constants.value(weight), *node.args[1:]).contiguous()
        if list(value.shape) != list(weight.meta["val"].shape)[::-1]:
            return
        axis = grid.axis if grid.is_single else 1 - grid.axis
        with self._graph.inserting_before(node):
            integers = self._constants.add(value, "transposed", node)
        self._integers[node] = integers, replace(grid, axis=axis)

    def _pad(self, node: Node) -> None:
        """Pads with the integer that represents the padding value.

        The uneven padding of an ONNX convolution is such a pad.
        """
        values = arguments_of(node)
        integers, grid = self._integers.get(values["self"], (None, None))
        if integers is None or not (grid.is_single and grid.is_int8):
            return
        number = float(values["value"] or 0)
        filler = grid.integer(number) if math.isfinite(number) else None
        if values.get("mode", "constant") != "constant" or filler is None:
            self._reasons[node] = "it does not pad with a finite number"
        elif (filler - grid.zero_point) * grid.scale != number:
            self._reasons[node] = "no integer stands for the number that it pads with"
        else:
            with self._graph.inserting_before(node):
                padded = self._call(aten.constant_pad_nd.default, integers, values["pad"], filler)
            self._integers[node] = padded, grid

    def _max_pool(self, node: Node) -> None:
        values = arguments_of(node)
        x, grid = self._integers.get(values["self"], (None, None))
        axes = 2 if node.target == aten.max_pool2d.default else 1
        if x is None or not (grid.is_single and grid.is_int8):
            return
        image = x.meta["val"].shape[2:]
        if len(image) != axes:
            self._reasons[node] = "its operand has no batch"
            return
        if values["ceil_mode"] and not all(isinstance(size, int) for size in image):
            self._reasons[node] = "its ceil_mode needs static sizes"
            return
        window = all_axes(values["kernel_size"], axes)
        options = [
            window,
            all_axes(values["stride"] or window, axes),
            all_axes(values["padding"], axes),
            all_axes(values["dilation"], axes),
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


def _core(node: Node) -> Node:
    while _is_move(node):
        node = node.args[0]
    return _without_clamps(node)[0]


def _is_move(node: Node) -> bool:
    """Returns whether an operator moves the elements of one tensor into another."""
    return (
        node.target in MOVES - _NO_COMPUTATION - {aten.dropout.default}
        and isinstance(node.meta.get("val"), torch.Tensor)
        and not node.kwargs
    )


def _name(node: Node) -> str:
    return str(node.target).removesuffix(".default")
