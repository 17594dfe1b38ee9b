"""The tensors of a graph that do not depend on the program's inputs."""

from __future__ import annotations

import itertools

import torch
from torch._guards import detect_fake_mode
from torch.fx import GraphModule, Node

from importers.integer.operands import layer_of


class Constants:
    """Evaluates nodes that depend on weights only, and adds new constants to the graph.

    Attributes:
        fake_mode: that of the graph's tensors.
    """

    def __init__(self, module: GraphModule):
        self._module = module
        self._known: dict[Node, torch.Tensor | None] = {}
        values = [node.meta.get("val") for node in module.graph.nodes]
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        self.fake_mode = detect_fake_mode(tensors) or torch._subclasses.FakeTensorMode()

    def value(self, node: Node) -> torch.Tensor | None:
        """Returns the tensor of a node; None if it depends on an input or is not a tensor."""
        if node not in self._known:
            self._known[node] = self._compute(node)
        return self._known[node]

    def _compute(self, node: Node) -> torch.Tensor | None:
        if node.op == "get_attr":
            value: object = self._module
            for part in node.target.split("."):
                value = getattr(value, part)
            return value.detach() if isinstance(value, torch.Tensor) else None
        if node.op != "call_function" or not node.all_input_nodes:
            return None
        values = {each: self.value(each) for each in node.all_input_nodes}
        if any(value is None for value in values.values()):
            return None
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), values.__getitem__)
        with torch.no_grad():
            value = node.target(*args, **kwargs)
        return value if isinstance(value, torch.Tensor) else None

    def add(self, value: torch.Tensor, kind: str, near: Node) -> Node:
        """Adds a constant at the insertion point.

        Args:
            kind: the last part of its name, such as `multiplier`.
            near: a node, whose layer is part of the name. If it has no layer, but is computed from
                one tensor of the program, the name of that is.
        """
        layer = layer_of(near)
        if layer is None:
            path, name = self._origin(near)
            layer, kind = (path, f"{name}_{kind}") if name else (near.name, kind)
        owner = self._owner(layer)
        number = next(n for n in itertools.count() if not hasattr(owner, _numbered(kind, n)))
        # Not a buffer, but a constant of the program: it is not state.
        setattr(owner, _numbered(kind, number), value)
        name = f"{layer}.{_numbered(kind, number)}" if layer else _numbered(kind, number)
        # Graph.get_attr warns about tensors that are not buffers.
        node = self._module.graph.create_node("get_attr", name)
        with self.fake_mode:
            node.meta["val"] = torch.empty(value.shape, dtype=value.dtype)
        self._known[node] = value
        return node

    def remove_unused(self) -> None:
        """Removes the tensors that no node of the graph reads."""
        used = {node.target for node in self._module.graph.nodes if node.op == "get_attr"}
        tensors = [*self._module.named_parameters(), *self._module.named_buffers()]
        for name, _ in tensors:
            if name not in used:
                path, _, attribute = name.rpartition(".")
                delattr(self._module.get_submodule(path), attribute)

    def _origin(self, node: Node) -> tuple[str, str]:
        """Returns the module and the attribute of the first tensor that a constant depends on."""
        while node.op != "get_attr":
            if self.value(node) is None:
                return "", ""
            node = node.all_input_nodes[0]
        path, _, name = node.target.rpartition(".")
        return path, name

    def _owner(self, path: str) -> torch.nn.Module:
        """Returns the submodule with this path, added if it is missing."""
        owner: torch.nn.Module = self._module
        for part in filter(None, path.split(".")):
            if not isinstance(getattr(owner, part, None), torch.nn.Module):
                owner.add_module(part, torch.nn.Module())
            owner = getattr(owner, part)
        return owner


def _numbered(kind: str, number: int) -> str:
    return f"{kind}_{number}" if number else kind
