"""Rewrites index lists to the form that torch-mlir lowers, and checks computed indices."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true

from importers.decompositions import decomposition_table
from importers.decompositions.assertions import require
from importers.decompositions.tracing import origin_of, tracing
from importers.repairs.retrace import replace_call, replace_calls

aten = torch.ops.aten

_READS = frozenset({aten.index.Tensor, aten._unsafe_index.Tensor})
_WRITES = frozenset({aten.index_put.default})
_CONVERT = torch.ops.prims.convert_element_type.default
_MASKS = (torch.bool, torch.uint8)
# Results of these are not negative, unless an argument is.
_COUNTS = frozenset({aten.arange.start_step, aten.nonzero.default, aten.argmax.default})
_SAME_ELEMENTS = frozenset(
    {
        *(_CONVERT, aten._to_copy.default, aten.clone.default, aten.expand.default),
        *(aten.view.default, aten.unsqueeze.default, aten.select.int, aten.slice.Tensor),
    }
)


def convert_indices(graph: torch.fx.Graph) -> int:
    """Converts every index tensor to i64 positions; returns how many lists of indices it changed.

    A write by a single mask becomes `where`.
    """
    nodes = [node for node in graph.nodes if _wants_conversion(node)]
    if not nodes:
        return 0
    with tracing(graph, decomposition_table()) as table:
        for node in nodes:
            if _fills_mask(node):
                replace_call(node, _choose, table)
            elif _count_beside_masks(node) is not None:
                replace_call(node, _with_known_counts(node), table)
            else:
                _Conversion(graph, node).run()
    return len(nodes)


def normalize_negative_indices(graph: torch.fx.Graph) -> int:
    """Adds the size of the dimension to negative indices of writes; returns how many changed."""
    nodes = [
        node
        for node in graph.nodes
        if node.target in _WRITES and any(map(_may_be_negative, node.args[1]))
    ]
    return replace_calls(graph, nodes, lambda _: _put_at_normalized)


def _may_be_negative(index: torch.fx.Node | None) -> bool:
    if index is None or _dtype(index) in _MASKS:
        return False
    while index.target in _SAME_ELEMENTS:
        index = index.args[0]
    return index.target not in _COUNTS or any(
        isinstance(bound, int) and bound < 0 for bound in index.args
    )


def _put_at_normalized(
    x: torch.Tensor,
    indices: list[torch.Tensor | None],
    value: torch.Tensor,
    accumulate: bool = False,
) -> torch.Tensor:
    places = [
        index if index is None else torch.where(index < 0, index + size, index)
        for index, size in zip(indices, x.shape, strict=False)
    ]
    return aten.index_put(x, places, value, accumulate)


def check_selected_indices(graph: torch.fx.Graph) -> int:
    """Asserts that computed indices of selections are in [-size, size); returns how many there are.

    The slice that a selection lowers to does not check this: with a dimension of size 1, it is
    the whole tensor, whatever the index.
    """
    nodes = [node for node in graph.nodes if _selects_by_data(node)]
    for node in nodes:
        x, dim, place = node.args
        size = x.meta["val"].shape[dim]
        with graph.inserting_before(node):
            if isinstance(size, torch.SymInt):
                size = _number(graph, node, aten.sym_size.int, (x, dim), size)
            from_the_front = _number(
                graph, node, operator.add, (place, size), place.meta["val"] + _value(size)
            )
            for compare, number, bound in (
                (operator.ge, from_the_front, 0),
                (operator.lt, place, size),
            ):
                value = compare(number.meta["val"], _value(bound))
                inside = _number(graph, node, compare, (number, bound), value)
                arguments = (inside, "index out of range")
                _number(graph, node, aten._assert_scalar.default, arguments, None)
    return len(nodes)


def _selects_by_data(node: torch.fx.Node) -> bool:
    if node.target is not aten.select.int or not isinstance(node.args[2], torch.fx.Node):
        return False
    return bool(free_unbacked_symbols(node.args[2].meta["val"]))


def _value(size: int | torch.fx.Node) -> int | torch.SymInt:
    return size.meta["val"] if isinstance(size, torch.fx.Node) else size


def _number(
    graph: torch.fx.Graph, origin: torch.fx.Node, target, arguments: tuple, value
) -> torch.fx.Node:
    node = graph.call_function(target, arguments)
    node.meta = {**origin_of(origin), "val": value}
    return node


def _wants_conversion(node: torch.fx.Node) -> bool:
    if node.op != "call_function" or node.target not in _READS | _WRITES:
        return False
    return any(_dtype(index) != torch.int64 for index in node.args[1] if index is not None)


def _fills_mask(node: torch.fx.Node) -> bool:
    """Returns True if the node writes by a single mask of the leading dimensions."""
    if node.target not in _WRITES or len(node.args[1]) != 1:
        return False
    (mask,), value = node.args[1], node.args[2]
    sizes = value.meta["val"].shape
    # A mask may choose no element, so a dynamic number of values may be 0.
    return _dtype(mask) in _MASKS and all(statically_known_true(size != 0) for size in sizes)


def _choose(
    x: torch.Tensor, indices: list[torch.Tensor], value: torch.Tensor, accumulate: bool = False
) -> torch.Tensor:
    """Sets or adds `value` where the mask is true.

    `value` holds one value for all places, or one for each place.
    """
    (mask,) = indices
    mask = mask.to(torch.bool)
    rest = x.dim() - mask.dim()
    if value.dim() > rest:
        # The n-th position where the mask is true takes the n-th value.
        place = mask.reshape(-1).to(torch.int64).cumsum(0) - 1
        last = value.shape[0] - 1
        if last:
            require(
                torch.eq(place[-1], last),
                "index_put has another number of values than its mask selects",
            )
        chosen = value.index_select(0, place.clamp(0, last))
        value = chosen.reshape(*mask.shape, *value.shape[1:])
    if accumulate:
        value = x + value
    return torch.where(mask.reshape(*mask.shape, *[1] * rest), value, x)


def _count_beside_masks(node: torch.fx.Node) -> int | None:
    """Returns the number of elements that masks must choose to match the other indices, or None."""
    indices = [index.meta["val"] for index in node.args[1] if index is not None]
    shapes = [index.shape for index in indices if index.dtype not in _MASKS]
    if not shapes or len(shapes) == len(indices):
        return None
    shape = torch.broadcast_shapes(*shapes)
    if len(shape) != 1 or not isinstance(shape[0], int) or shape[0] == 1:
        return None
    return shape[0]


def _with_known_counts(node: torch.fx.Node) -> Callable[..., torch.Tensor]:
    """Returns a function that calls the operator of `node` with positions instead of masks."""
    count = _count_beside_masks(node)

    def call(x: torch.Tensor, indices: list[torch.Tensor | None], *rest: Any) -> torch.Tensor:
        places: list[torch.Tensor | None] = []
        for index in indices:
            if index is not None and index.dtype in _MASKS:
                places += _places_of(index.to(torch.bool), count)
            else:
                places.append(index if index is None else index.to(torch.int64))
        return node.target(x, places, *rest)

    return call


def _places_of(mask: torch.Tensor, count: int) -> list[torch.Tensor]:
    """Returns the positions where a mask is true: i64 `[count]` for each of its dimensions."""
    flat = mask.reshape(-1)
    number = flat.to(torch.int64).cumsum(0) - 1
    require(
        torch.eq(flat.sum(), count),
        "a mask selects another number of elements than the other indices",
    )
    chosen = torch.logical_and(flat, torch.eq(number, torch.arange(count).unsqueeze(1)))
    place = torch.where(chosen, torch.arange(flat.shape[0]), 0).sum(1)
    places = []
    for size in reversed(mask.shape):
        places.insert(0, place % size)
        place = place // size
    return places


class _Conversion:
    """Converts the indices of one node. Merges the dimensions that one mask covers."""

    def __init__(self, graph: torch.fx.Graph, node: torch.fx.Node):
        self._graph = graph
        self._node = node
        self._operand = node.args[0]
        self._flattened = False

    def run(self) -> None:
        node = self._node
        with self._graph.inserting_before(node):
            indices = [
                None if index is None else self._converted(dim, index)
                for dim, index in enumerate(node.args[1])
            ]
        node.args = (self._operand, indices, *node.args[2:])
        if node.target in _WRITES:
            self._unflatten()

    def _converted(self, dim: int, index: torch.fx.Node) -> torch.fx.Node:
        dtype, shape = _dtype(index), list(index.meta["val"].shape)
        if dtype == torch.int64:
            return index
        if dtype not in _MASKS:
            return self._insert(_CONVERT, (index, torch.int64), shape, torch.int64)
        if len(shape) > 1:
            index = self._merge(dim, index)
        fake_mode = detect_fake_mode(index.meta["val"])
        # Ignore the new symbol: a later trace would expect it among its own results.
        with fake_mode.shape_env.ignore_fresh_unbacked_symbols():
            count = fake_mode.shape_env.create_unbacked_symint()
        positions = self._insert(aten.nonzero.default, (index,), [count, 1], torch.int64)
        return self._insert(aten.select.int, (positions, 1, 0), [count], torch.int64)

    def _merge(self, dim: int, mask: torch.fx.Node) -> torch.fx.Node:
        """Flattens a mask and the dimensions of the operand that it covers, starting at `dim`."""
        sizes = list(mask.meta["val"].shape)
        operand = self._operand.meta["val"]
        shape = list(operand.shape)
        last = dim + len(sizes) - 1
        self._flattened = True
        shape[dim : last + 1] = [math.prod(sizes)]
        self._operand = self._insert(
            aten.flatten.using_ints, (self._operand, dim, last), shape, operand.dtype
        )
        return self._insert(
            aten.flatten.using_ints, (mask, 0, -1), [math.prod(sizes)], _dtype(mask)
        )

    def _unflatten(self) -> None:
        """Restores the original shape of the result of a write."""
        node = self._node
        users = list(node.users)
        result, value = node, node.meta["val"]
        node.meta = {**origin_of(node), "val": self._operand.meta["val"]}
        if self._flattened:
            with self._graph.inserting_after(node):
                shape = list(value.shape)
                result = self._insert(aten.view.default, (node, shape), shape, value.dtype)
        for user in users:
            user.replace_input_with(node, result)

    def _insert(self, target, arguments: tuple, shape: list, dtype: torch.dtype) -> torch.fx.Node:
        node = self._graph.call_function(target, arguments)
        node.meta = origin_of(self._node)
        with detect_fake_mode(arguments[0].meta["val"]):
            node.meta["val"] = torch.empty(shape, dtype=dtype)
        return node


def _dtype(index: torch.fx.Node) -> torch.dtype:
    return index.meta["val"].dtype
