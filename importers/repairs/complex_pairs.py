"""Rewrites complex arithmetic to real arithmetic.

torch-mlir lowers few operators on complex tensors, and to linalg only. Every complex value inside a
program becomes two real ones, which lower to every output dialect. Complex inputs, weights and
results stay complex, and so do operators that `complex_operators` has no entry for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.utils import _pytree as pytree

from importers.decompositions import decomposition_table
from importers.decompositions.tracing import inline, origin_of, trace, tracing
from importers.repairs import fourier
from importers.repairs.complex_operators import OPERATORS, Complex, real_dtype
from importers.repairs.constants import constant_placeholder

_FOURIER = {
    torch.ops.aten._fft_c2c.default: fourier.complex_to_complex,
    torch.ops.aten._fft_r2c.default: fourier.real_to_complex,
    torch.ops.aten._fft_c2r.default: fourier.complex_to_real,
}


@dataclass(frozen=True)
class _Pair:
    """The nodes for the real and imaginary parts of a complex value."""

    real: torch.fx.Node
    imaginary: torch.fx.Node


def split_complex_numbers(graph: torch.fx.Graph) -> int:
    """Rewrites operators that take or return complex tensors; returns how many it rewrote."""
    if not any(node.op == "call_function" and _touches_complex(node) for node in graph.nodes):
        return 0
    with tracing(graph, decomposition_table()) as table:
        return _Splitter(graph, table).run()


class _Splitter:
    def __init__(self, graph: torch.fx.Graph, table: dict):
        self._graph = graph
        self._table = table
        # Complex nodes and the pairs that replace them.
        self._pairs: dict[torch.fx.Node, _Pair] = {}
        # Nodes with several results and their replacements: a pair or a node for each result.
        self._lists: dict[torch.fx.Node, Sequence[Any]] = {}

    def run(self) -> int:
        count = 0
        for node in list(self._graph.nodes):
            with self._graph.inserting_before(node):
                if node.op == "output":
                    node.args = pytree.tree_map_only(torch.fx.Node, self._whole, node.args)
                elif node.op == "call_function" and _touches_complex(node):
                    count += self._rewrite(node)
        for node in reversed(list(self._graph.nodes)):
            replaced = node in self._pairs or node in self._lists
            if replaced and node.op != "placeholder" and not node.users:
                self._graph.erase_node(node)
        return count

    def _rewrite(self, node: torch.fx.Node) -> bool:
        """Rewrites a node if possible. Returns True if it rewrote an operator."""
        if node.target is operator.getitem and node.args[0] in self._lists:
            self._stand_for(node, self._lists[node.args[0]][node.args[1]])
            return False
        result = self._computed(node)
        if result is None:
            # The operator stays as it is, so it needs complex tensors as operands.
            node.args, node.kwargs = pytree.tree_map_only(
                torch.fx.Node, self._whole, (node.args, node.kwargs)
            )
            return False
        self._stand_for(node, result)
        return True

    def _stand_for(self, node: torch.fx.Node, result: Any) -> None:
        if isinstance(result, _Pair):
            self._pairs[node] = result
        elif isinstance(result, torch.fx.Node):
            node.replace_all_uses_with(result)
            self._graph.erase_node(node)
        else:
            self._lists[node] = result

    def _computed(self, node: torch.fx.Node) -> Any:
        """Returns the replacement of a node: a pair, a node, or a list; None if unsupported."""
        call = _call_of(node)
        if call is None:
            return None
        leaves, spec = pytree.tree_flatten((node.args, node.kwargs))
        operands: list[torch.fx.Node] = []
        slots = [self._slot(leaf, operands) for leaf in leaves]

        def run(values: Sequence[Any], constant: fourier.Constant) -> Any:
            filled = [slot.take(values) if isinstance(slot, _Slot) else slot for slot in slots]
            args, kwargs = pytree.tree_unflatten(filled, spec)
            return call(constant, *args, **kwargs)

        wanted: dict[str, Callable[[], torch.Tensor]] = {}

        def note(name: str, make: Callable[[], torch.Tensor]) -> torch.Tensor:
            wanted[name] = make
            # A fake tensor, because `tracing` is active.
            return make()

        values = [operand.meta["val"] for operand in operands]
        try:
            with _ignored_symbols(values):
                run(values, note)
        except NotImplementedError:
            return None
        constants = [constant_placeholder(self._graph, *item) for item in wanted.items()]
        results = _Results()

        def traced_call(*values: Any) -> list[Any]:
            given = dict(zip(wanted, values[len(operands) :], strict=True))
            return results.flatten(run(values, lambda name, _make: given[name]))

        copied = self._inlined(traced_call, [*operands, *constants], node)
        return results.unflatten(copied)

    def _slot(self, leaf: Any, operands: list[torch.fx.Node]) -> Any:
        """Appends a node to the operands and returns its slot; returns constants unchanged."""
        if not isinstance(leaf, torch.fx.Node):
            return leaf
        slot = _Slot(len(operands), _is_complex(leaf.meta["val"]))
        if slot.is_complex:
            pair = self._pair(leaf)
            operands += [pair.real, pair.imaginary]
        else:
            operands.append(leaf)
        return slot

    def _pair(self, node: torch.fx.Node) -> _Pair:
        """Returns the pair of a complex node; splits a node that has none at its first use."""
        if node not in self._pairs:
            # Insert the nodes directly: a trace would decompose them to slices of `view_as_real`.
            self._pairs[node] = _Pair(
                self._part(torch.ops.aten.real, node), self._part(torch.ops.aten.imag, node)
            )
        return self._pairs[node]

    def _part(self, operator: torch._ops.OpOverloadPacket, node: torch.fx.Node) -> torch.fx.Node:
        part = self._graph.call_function(operator.default, (node,))
        part.meta = {
            **origin_of(node),
            "val": torch.empty_like(node.meta["val"], dtype=real_dtype(node.meta["val"].dtype)),
        }
        return part

    def _whole(self, node: torch.fx.Node) -> torch.fx.Node:
        """Returns a complex node for one that was rewritten; any other node unchanged."""
        pair = self._pairs.get(node)
        if pair is None or node.op == "placeholder":
            return node
        return self._inlined(torch.complex, [pair.real, pair.imaginary], node)

    def _inlined(
        self, function: Callable[..., Any], operands: list[torch.fx.Node], origin: torch.fx.Node
    ) -> Any:
        """Traces a function of the operands and inserts the trace at the insertion point."""
        values = [operand.meta["val"] for operand in operands]
        traced = trace(function, values, self._table)
        return inline(traced, operands, self._graph, origin_of(origin))


def _ignored_symbols(values: Sequence[Any]) -> AbstractContextManager:
    """Returns a context in which new symbols for sizes that depend on data are ignored.

    A later trace would expect them among its own results.
    """
    fake_mode = detect_fake_mode(values)
    if fake_mode is None or fake_mode.shape_env is None:
        return nullcontext()
    return fake_mode.shape_env.ignore_fresh_unbacked_symbols()


@dataclass(frozen=True)
class _Slot:
    """The position of an argument among the operands. A complex argument takes two."""

    index: int
    is_complex: bool

    def take(self, values: Sequence[Any]) -> Any:
        if self.is_complex:
            return Complex(values[self.index], values[self.index + 1])
        return values[self.index]


class _Results:
    """Flattens the result of a call to tensors, and rebuilds it with nodes in their place."""

    def flatten(self, result: Any) -> list[torch.Tensor]:
        leaves, self._spec = pytree.tree_flatten(
            result, is_leaf=lambda part: isinstance(part, Complex)
        )
        self._is_complex = [isinstance(leaf, Complex) for leaf in leaves]
        return [
            part
            for leaf in leaves
            for part in ((leaf.real, leaf.imaginary) if isinstance(leaf, Complex) else (leaf,))
        ]

    def unflatten(self, nodes: Sequence[torch.fx.Node]) -> Any:
        given = iter(nodes)
        leaves = [
            _Pair(next(given), next(given)) if is_complex else next(given)
            for is_complex in self._is_complex
        ]
        return pytree.tree_unflatten(leaves, self._spec)


def _call_of(node: torch.fx.Node) -> Callable[..., Any] | None:
    """Returns the replacement function of a node, or None if there is none.

    Its arguments are a `fourier.Constant` and the node's arguments, with `Complex` for complex
    tensors.
    """
    transform = _FOURIER.get(node.target)
    if transform is not None:
        sizes = [node.args[0].meta["val"].shape[dim] for dim in node.args[1]]
        fixed = all(isinstance(size, int) for size in (*sizes, *node.args[2:]))
        return transform if fixed else None
    function = OPERATORS.get(getattr(node.target, "overloadpacket", None))
    if function is None:
        return None
    return lambda _constant, *args, **kwargs: function(*args, **kwargs)


def _touches_complex(node: torch.fx.Node) -> bool:
    """Returns True if a node takes or returns a complex tensor."""
    values = [node.meta.get("val"), [operand.meta.get("val") for operand in node.all_input_nodes]]
    return any(map(_is_complex, pytree.tree_leaves(values)))


def _is_complex(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_complex()
