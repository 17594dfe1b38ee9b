"""Finds the distinct operator calls in a program, and makes graphs of single calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import getitem
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.errors.user_source import node_line


@dataclass
class Call:
    """Calls of one operator with the same shapes, dtypes and constant arguments.

    Attributes:
        operator: PyTorch's name, such as `aten.add.Tensor`.
        node: the node of one of the calls.
        count: the number of calls.
        where: the user's source lines, in order, each once.
    """

    operator: str
    node: torch.fx.Node
    count: int = 0
    where: list[str] = field(default_factory=list)

    @property
    def operands(self) -> list[str]:
        """The tensor operands, such as `2x3xfloat32`; a dynamic size is `?`."""
        return [
            spelled
            for node in _operands(self.node)
            if (spelled := _spelled(node.meta.get("val"))) is not None
        ]

    @property
    def results(self) -> list[str]:
        """The tensor results, in the same form."""
        values = pytree.tree_leaves(self.node.meta.get("val"))
        return [spelled for value in values if (spelled := _spelled(value)) is not None]


def distinct_calls(programs: Iterable[torch.export.ExportedProgram]) -> list[Call]:
    """Returns the distinct operator calls of programs and of their subgraphs."""
    calls: dict[str, Call] = {}
    modules = (module for program in programs for module in program.graph_module.modules())
    for module in modules:
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in module.graph.nodes:
            if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
                call = calls.setdefault(key_of(node), Call(str(node.target), node))
                call.count += 1
                line = node_line(node)
                if line is not None and line not in call.where:
                    call.where.append(line)
    return list(calls.values())


def key_of(node: torch.fx.Node) -> str:
    """Returns a key that is equal for calls that lower in the same way."""
    described = pytree.tree_map(_described, (node.args, node.kwargs))
    results = [_described(value) for value in pytree.tree_leaves(node.meta.get("val"))]
    text = json.dumps([str(node.target), repr(described), repr(results)])
    return hashlib.sha256(text.encode()).hexdigest()


def alone(node: torch.fx.Node) -> torch.fx.Graph:
    """Returns a graph of that one call, with its operands as inputs."""
    graph = torch.fx.Graph()
    inputs: dict[torch.fx.Node, torch.fx.Node] = {}
    for operand in _operands(node):
        placeholder = graph.placeholder(operand.name)
        placeholder.meta = {"val": operand.meta.get("val")}
        inputs[operand] = placeholder
    copy = graph.node_copy(node, inputs.__getitem__)
    value = copy.meta["val"] = node.meta.get("val")
    graph.output(tuple(_outputs(graph, copy, value)))
    return graph


def _outputs(graph: torch.fx.Graph, node: torch.fx.Node, value: Any) -> Iterator[torch.fx.Node]:
    if isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            if part is not None:
                item = graph.call_function(getitem, (node, index))
                item.meta["val"] = part
                yield item
    elif value is not None:
        yield node


def _operands(node: torch.fx.Node) -> list[torch.fx.Node]:
    leaves = pytree.tree_leaves((node.args, node.kwargs))
    return list(dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, torch.fx.Node)))


def _spelled(value: Any) -> str | None:
    if not isinstance(value, torch.Tensor):
        return None
    sizes = [str(size) if isinstance(size, int) else "?" for size in value.shape]
    return "x".join([*sizes, str(value.dtype).removeprefix("torch.")])


def _described(leaf: Any) -> str:
    value = leaf.meta.get("val") if isinstance(leaf, torch.fx.Node) else leaf
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return type(value).__name__
    return _spelled(value) or f"{type(value).__name__} {value!r}"
