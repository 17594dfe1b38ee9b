"""Constant tensors that a repair adds to a program, and the program's new signature."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import torch
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    TensorArgument,
)

# Metadata key on placeholders that are not in the signature yet: (constant name, tensor, kind).
_MARK = "unmess.constant"


def constant_placeholder(
    graph: torch.fx.Graph,
    name: str,
    make: Callable[[], torch.Tensor],
    kind: InputKind = InputKind.CONSTANT_TENSOR,
) -> torch.fx.Node:
    """Returns the placeholder of a constant tensor; adds it if the graph has none of that name.

    Args:
        name: the name of the weight that it becomes.
        make: computes the tensor; called outside of fake tensor mode and autograd.
        kind: of the input. Small tensors of kind `CONSTANT_TENSOR` become literals in the IR.
    """
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    for node in placeholders:
        if node.meta.get(_MARK, (None,))[0] == name:
            return node
    with unset_fake_temporarily(), torch.no_grad():
        tensor = make()
    first = next(iter(graph.nodes))
    with graph.inserting_before(first):
        node = graph.placeholder(f"c_{name}".replace(".", "_"))
    fake_mode = detect_fake_mode([placeholder.meta.get("val") for placeholder in placeholders])
    node.meta["val"] = fake_mode.from_tensor(tensor, static_shapes=True)
    node.meta[_MARK] = name, tensor, kind
    return node


def constant_value(node: torch.fx.Node) -> tuple[str, torch.Tensor] | None:
    """Returns the name and the tensor of a placeholder that `constant_placeholder` added."""
    return node.meta[_MARK][:2] if _MARK in node.meta else None


def unused_constants(graph: torch.fx.Graph) -> list[torch.fx.Node]:
    """Returns the added placeholders that no node uses."""
    return [node for node in graph.nodes if _MARK in node.meta and not node.users]


def take_constants(graph: torch.fx.Graph) -> list[tuple[InputSpec, torch.Tensor]]:
    """Returns the constants added so far, each with its input spec, and removes their marks."""
    taken = []
    for node in graph.nodes:
        if _MARK in node.meta:
            name, tensor, kind = node.meta.pop(_MARK)
            persistent = False if kind == InputKind.BUFFER else None
            argument = TensorArgument(name=node.name)
            taken.append((InputSpec(kind, argument, name, persistent), tensor))
    return taken


def with_fitting_signature(
    exported: torch.export.ExportedProgram,
) -> torch.export.ExportedProgram:
    """Returns the program with added constants and current output names in its signature."""
    added = take_constants(exported.graph)
    signature = exported.graph_signature
    results = next(node for node in reversed(exported.graph.nodes) if node.op == "output").args[0]
    outputs = [
        spec
        if isinstance(spec.arg, ConstantArgument) or spec.arg.name == node.name
        else replace(spec, arg=replace(spec.arg, name=node.name))
        for spec, node in zip(signature.output_specs, results, strict=True)
    ]
    inputs = [*(spec for spec, _ in added), *signature.input_specs]
    constants = {**exported.constants, **{spec.target: tensor for spec, tensor in added}}
    with warnings.catch_warnings():
        # PyTorch's own code warns when it copies pytree specs.
        warnings.filterwarnings("ignore", category=FutureWarning, module="copyreg")
        return exported._update(
            exported.graph_module, ExportGraphSignature(inputs, outputs), constants=constants
        )
