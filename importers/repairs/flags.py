"""Rewrites symbolic booleans to integer comparisons, which the importer supports."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch._guards import detect_fake_mode

from importers.decompositions.tracing import origin_of

aten = torch.ops.aten

_ASSERT = aten._assert_scalar.default
_READS = frozenset({aten._local_scalar_dense.default, aten.item.default})
_OPPOSITE = {
    operator.eq: operator.ne,
    operator.ne: operator.eq,
    operator.lt: operator.ge,
    operator.ge: operator.lt,
    operator.gt: operator.le,
    operator.le: operator.gt,
}


def read_flags_as_integers(graph: torch.fx.Graph) -> int:
    """Rewrites `sym_ite`, `sym_not` and assertions of conjunctions; returns how many.

    `sym_ite(flag, 1, 0)` becomes the flag's tensor read as an integer. The negation of a comparison
    becomes the opposite comparison. Both come from branches on data, where `draft` asserts that the
    branch goes as on the example. An assertion of `a & b` becomes one assertion per operand.
    """
    replaced = 0
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if node.target is torch.sym_ite and _is_integer_of_flag(node):
            _read_integer(graph, node)
        elif node.target is torch.sym_not and node.args[0].target in _OPPOSITE:
            _compare_the_other_way(graph, node)
        elif node.target is _ASSERT and _is_conjunction(node.args[0]):
            _assert_each(graph, node)
        else:
            continue
        replaced += 1
    return replaced


def _is_integer_of_flag(node: torch.fx.Node) -> bool:
    flag, *choice = node.args
    if choice != [1, 0] or not isinstance(flag, torch.fx.Node) or flag.target not in _READS:
        return False
    return flag.args[0].meta["val"].dtype == torch.bool


def _read_integer(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    read = node.args[0]
    tensor = read.args[0]
    fake_mode = detect_fake_mode(tensor.meta["val"])
    with graph.inserting_before(node):
        wide = graph.call_function(
            torch.ops.prims.convert_element_type.default, (tensor, torch.int64)
        )
        with fake_mode:
            wide.meta = {**origin_of(node), "val": tensor.meta["val"].to(torch.int64)}
        integer = graph.call_function(aten.item.default, (wide,))
    # Otherwise a later trace expects this symbol among its own results.
    with fake_mode.shape_env.ignore_fresh_unbacked_symbols():
        value = fake_mode.shape_env.create_unbacked_symint()
    integer.meta = {**origin_of(node), "val": value}
    node.replace_all_uses_with(integer)
    graph.erase_node(node)
    if not read.users:
        graph.erase_node(read)
    for user in integer.users:
        if user.target in _OPPOSITE:
            _retype(user)


def _compare_the_other_way(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    comparison = node.args[0]
    with graph.inserting_before(node):
        opposite = graph.call_function(_OPPOSITE[comparison.target], comparison.args)
    opposite.meta = origin_of(node)
    _retype(opposite)
    node.replace_all_uses_with(opposite)
    graph.erase_node(node)


def _is_conjunction(value: Any) -> bool:
    return isinstance(value, torch.fx.Node) and value.target is operator.and_


def _assert_each(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    both, message = node.args
    for part in both.args:
        with graph.inserting_before(node):
            assertion = graph.call_function(_ASSERT, (part, message))
        assertion.meta = dict(node.meta)
        if _is_conjunction(part):
            _assert_each(graph, assertion)
    graph.erase_node(node)
    if not both.users:
        graph.erase_node(both)


def _retype(comparison: torch.fx.Node) -> None:
    """Recomputes the symbolic value: the capture may have fixed it through its own assertion."""
    operands = [
        operand.meta["val"] if isinstance(operand, torch.fx.Node) else operand
        for operand in comparison.args
    ]
    comparison.meta["val"] = comparison.target(*operands)
