"""Inserts the nodes of an integer program into a graph."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from importers.integer import operators
from importers.integer.constants import Constants
from importers.integer.grid import Grid
from unmess.core.ir.layer import node_layer

aten = torch.ops.aten


class NodeBuilder:
    """Inserts nodes at the insertion point of a graph, each with its shape and dtype."""

    def __init__(self, module: GraphModule):
        self._module = module
        self._graph = module.graph
        self._constants = Constants(module)
        # The node that is being replaced: new nodes get its source line and layer.
        self._current: Node | None = None

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


def arguments_of(node: Node) -> dict[str, Any]:
    """Returns all arguments of an operator by name, those with default values included."""
    arguments = node.target._schema.arguments
    names = [each.name for each in arguments]
    defaults = {each.name: each.default_value for each in arguments}
    return defaults | dict(zip(names, node.args, strict=False)) | node.kwargs


# Pointwise operators that PyTorch does not tag so.
_POINTWISE = (torch.ops.aten.hardswish.default,)


def is_pointwise(node: Node) -> bool:
    """Returns whether each element of the result is a function of that of the operands."""
    return (
        node.op == "call_function"
        and isinstance(node.target, torch._ops.OpOverload)
        and (torch.Tag.pointwise in node.target.tags or node.target in _POINTWISE)
        and torch.Tag.nondeterministic_seeded not in node.target.tags
    )


def layer_of(node: Node) -> str | None:
    """Returns the name of the model's module that calls an operator, such as `layer1.0.conv1`."""
    layer = node_layer(node)
    return None if layer is None else layer.path


def all_axes(values: Any, count: int) -> list[Any]:
    """Returns a list with an option of each axis, from a list or from one value for all."""
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    return values * count if len(values) == 1 else values
