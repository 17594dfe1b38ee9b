"""Rewrites assertions on tensors to assertions on numbers, the only ones that import."""

from __future__ import annotations

import operator

import torch
from torch._guards import detect_fake_mode

from importers.decompositions.tracing import origin_of

aten = torch.ops.aten

# PyTorch's dead-code elimination keeps only the overload with a message.
torch.fx.node.has_side_effect(aten._assert_async.default)
_ASSERTIONS = frozenset({aten._assert_async.default, aten._assert_async.msg})


def assert_numbers(graph: torch.fx.Graph) -> int:
    """Replaces tensor assertions by assertions on the number in the tensor; returns how many."""
    nodes = [node for node in graph.nodes if node.target in _ASSERTIONS]
    for node in nodes:
        tensor, message = (*node.args, "Assertion is failed")[:2]
        fake_mode = detect_fake_mode(tensor.meta["val"])
        with graph.inserting_before(node):
            wide = graph.call_function(aten.ne.Scalar, (tensor, 0))
            with fake_mode:
                wide.meta = {**origin_of(node), "val": tensor.meta["val"].ne(0)}
            number = graph.call_function(
                torch.ops.prims.convert_element_type.default, (wide, torch.int64)
            )
            with fake_mode:
                number.meta = {**origin_of(node), "val": wide.meta["val"].to(torch.int64)}
            read = graph.call_function(aten.item.default, (number,))
            # Otherwise a later trace expects this symbol among its own results.
            with fake_mode.shape_env.ignore_fresh_unbacked_symbols():
                value = fake_mode.shape_env.create_unbacked_symint()
            read.meta = {**origin_of(node), "val": value}
            holds = graph.call_function(operator.eq, (read, 1))
            holds.meta = {**origin_of(node), "val": value == 1}
            check = graph.call_function(aten._assert_scalar.default, (holds, message))
            check.meta = {**origin_of(node), "val": None}
        graph.erase_node(node)
    return len(nodes)
