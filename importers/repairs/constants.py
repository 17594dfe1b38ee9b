"""Constant tensors that a repair adds to a program."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument

# Metadata key on placeholders that are not in the signature yet: (constant name, tensor).
_MARK = "unmess.constant"


def constant_placeholder(
    graph: torch.fx.Graph, name: str, make: Callable[[], torch.Tensor]
) -> torch.fx.Node:
    """Returns the placeholder of a constant tensor; adds it if the graph has none of that name.

    Args:
        name: the name of the weight that it becomes.
        make: computes the tensor; called outside of fake tensor mode and autograd.
    """
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    for node in placeholders:
        if node.meta.get(_MARK, (None,))[0] == name:
            return node
    with unset_fake_temporarily(), torch.no_grad():
        tensor = make()
    first = next(iter(graph.nodes))
    with graph.inserting_before(first):
        node = graph.placeholder(f"c_{name}")
    fake_mode = detect_fake_mode([placeholder.meta.get("val") for placeholder in placeholders])
    node.meta["val"] = fake_mode.from_tensor(tensor, static_shapes=True)
    node.meta[_MARK] = (name, tensor)
    return node


def take_constants(graph: torch.fx.Graph) -> list[tuple[InputSpec, torch.Tensor]]:
    """Returns the constants added so far, each with its input spec, and removes their marks."""
    taken = []
    for node in graph.nodes:
        if _MARK in node.meta:
            name, tensor = node.meta.pop(_MARK)
            argument = TensorArgument(name=node.name)
            taken.append((InputSpec(InputKind.CONSTANT_TENSOR, argument, name, None), tensor))
    return taken
