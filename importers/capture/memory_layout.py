"""Finds the inputs whose memory a program reads by strides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch.export.graph_signature import InputKind

from unmess.core.signature.signature import TensorSpec
from unmess.core.signature.torch_signature import TorchSignature

# `aten::as_strided`, `as_strided_`, `as_strided_copy` and `as_strided_scatter`.
_READS_MEMORY = "aten::as_strided"
# The layout of their results does not depend on that of their operands.
_ROW_MAJOR = tuple(
    getattr(torch.ops.aten, name)
    for name in ("mm", "addmm", "bmm", "baddbmm", "linear", "embedding", "index_select", "gather")
)


def with_strides(
    signature: TorchSignature, exported: torch.export.ExportedProgram
) -> TorchSignature:
    """Requires the example's strides of every input that `as_strided` depends on.

    Args:
        exported: the result of torch.export. After decomposition, a program has further calls of
            `as_strided`, which PyTorch adds for the layout of the example.
    """
    strides = _strides(exported)

    def require(entry):
        if entry.name not in strides or not isinstance(entry.spec, TensorSpec):
            return entry
        return replace(entry, spec=replace(entry.spec, strides=strides[entry.name]))

    if not strides:
        return signature
    return replace(
        signature,
        inputs=tuple(map(require, signature.inputs)),
        arguments=tuple(
            require(argument) if argument.kind == "input" else argument
            for argument in signature.arguments
        ),
    )


def _strides(exported: torch.export.ExportedProgram) -> dict[str, tuple[int | None, ...]]:
    inputs = {
        spec.arg.name
        for spec in exported.graph_signature.input_specs
        if spec.kind == InputKind.USER_INPUT
    }
    found = {}
    for node in _dependencies(exported.graph):
        value = node.meta.get("val")
        if node.op == "placeholder" and node.name in inputs and isinstance(value, torch.Tensor):
            steps = value.stride()
            found[node.name] = tuple(step if isinstance(step, int) else None for step in steps)
    return found


def _dependencies(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """Returns the nodes that the layout of an operand of `as_strided` depends on."""
    found: set[torch.fx.Node] = set()
    pending = [
        operand
        for node in graph.nodes
        if any(map(_reads_memory, _operators(node)))
        for operand in node.all_input_nodes
    ]
    while pending:
        node = pending.pop()
        if node not in found and getattr(node.target, "overloadpacket", None) not in _ROW_MAJOR:
            found.add(node)
            pending += node.all_input_nodes
    return found


def _operators(node: torch.fx.Node) -> Iterator[object]:
    """Yields the operator that a node calls, and those of the graphs that it calls."""
    yield node.target
    for operand in node.all_input_nodes:
        if operand.op == "get_attr":
            body = getattr(operand.graph.owning_module, operand.target, None)
            if isinstance(body, torch.fx.GraphModule):
                for inner in body.graph.nodes:
                    yield from _operators(inner)


def _reads_memory(target: object) -> bool:
    return isinstance(target, torch._ops.OpOverload) and target._schema.name.startswith(
        _READS_MEMORY
    )
