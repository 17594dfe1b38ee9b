"""Inserts the nodes of an integer program into a graph."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from importers import integer_operators as operators
from importers.integer.constants import Constants
from importers.integer.grid import Grid

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
