"""Computes subgraphs that depend on constant weights only."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import torch
from torch._inductor.constant_folding import ConstantFolder
from torch.utils._python_dispatch import _disable_current_modes

from importers.folding.weights import SUFFIX, add_constant, named_constants
from importers.packed.names import is_packed
from unmess.core.program.weights import row_major

# A folded tensor has at most this many elements, or as many as the weights that it depends on.
_MOST_ELEMENTS = 1 << 20
# Not folded: repeating elements is cheaper in compiled code than reading a larger weight.
_REPEATING = (torch.ops.aten.expand.default, torch.ops.aten.repeat.default)

_TRANSPOSING = (
    torch.ops.aten.t.default,
    torch.ops.aten.permute.default,
    torch.ops.aten.transpose.int,
)


def fold_constant_subgraphs(
    exported: torch.export.ExportedProgram,
    state: Collection[str],
    unpacked: dict[tuple[str, ...], torch.Tensor] | None = None,
) -> int:
    """Replaces nodes that depend on constant weights only by new weights, in place.

    Nodes that depend on no weight, such as `aten.arange`, stay: compilers create such tensors. So
    does a node whose result has more than 2**20 elements and more than its weights together, and
    the dequantization of a weight.

    Args:
        state: the names of the tensors that calls change.
        unpacked: if given, the only nodes to replace are those that unpack packed weights. It
            holds the results by the names of the weights, so that entry points share them.

    Returns:
        The number of new weights.
    """
    constants = named_constants(exported, state)
    with _disable_current_modes(), torch.no_grad():
        kind = _Folder if unpacked is None else _Unpacker
        folder = kind(exported.graph_module, constants)
        folder.run()
    for node, tensor in folder.node_replacements.items():
        with torch.no_grad():
            tensor = row_major(tensor)
        if unpacked is not None:
            names = tuple(constants[leaf][0] for leaf in folder.leaves[node])
            # A program may compute several tensors from the same weights.
            known = unpacked.setdefault(names, tensor)
            tensor = known if _is_same(known, tensor) else tensor
        same = next(
            (leaf for leaf in folder.leaves[node] if _is_same(constants[leaf][1], tensor)), None
        )
        if same is None:
            names = [constants[leaf][0] for leaf in folder.leaves[node]]
            same = add_constant(exported.graph, _name(names), tensor)
        node.replace_all_uses_with(same)
        exported.graph.erase_node(node)
    exported.graph.eliminate_dead_code()
    return len(folder.node_replacements)


class _Folder(ConstantFolder):
    """Inductor's constant folding, for placeholders of weights.

    Attributes:
        leaves: the placeholders that each computed node depends on.
    """

    def __init__(
        self,
        module: torch.fx.GraphModule,
        constants: dict[torch.fx.Node, tuple[str, torch.Tensor]],
    ) -> None:
        super().__init__(module)
        self._constants = constants
        self._node: torch.fx.Node | None = None
        self.leaves = {node: (node,) for node in constants}

    def insert_placerholder_values(self, env: dict[torch.fx.Node, Any]) -> None:
        """Gives the weights their values. The name is that of the method in the base class."""
        super().insert_placerholder_values(env)
        env.update({node: tensor.detach() for node, (_, tensor) in self._constants.items()})

    def run_node(self, node: torch.fx.Node) -> Any:
        """Computes a node, or returns `unknown_value`."""
        if node.op == "output":
            return super().run_node(node)
        if node.op != "call_function" or "empty" in str(node.target):
            return self.unknown_value
        self._node = node
        self.leaves[node] = tuple(
            dict.fromkeys(
                leaf for operand in node.all_input_nodes for leaf in self.leaves.get(operand, ())
            )
        )
        return super().run_node(node) if self._is_small(node) else self.unknown_value

    def _is_small(self, node: torch.fx.Node) -> bool:
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return True
        elements = value.numel()
        of_weights = sum(self._constants[leaf][1].numel() for leaf in self.leaves[node])
        return isinstance(elements, int) and elements <= max(of_weights, _MOST_ELEMENTS)

    def _deduce_value(self, node: torch.fx.Node) -> Any:
        try:
            return super()._deduce_value(node)
        except Exception:
            # The operator fails on these values. Keep it: a call of the program reports the error.
            return self.unknown_value

    def insertable_tensor_check(self, tensor: torch.Tensor) -> bool:
        """Whether the current node's value may become a weight."""
        return (
            bool(self.leaves[self._node])
            and self._node.target not in _REPEATING
            and tensor.layout == torch.strided
            and tensor.device.type == "cpu"
        )


class _Unpacker(_Folder):
    """Folds nodes that depend on packed weights, of any size, and no others."""

    def _is_small(self, node: torch.fx.Node) -> bool:
        return True

    def insertable_tensor_check(self, tensor: torch.Tensor) -> bool:
        """Whether the current node's value may become a weight."""
        names = [self._constants[leaf][0] for leaf in self.leaves[self._node]]
        # Matrix products read a transposed matrix as it is.
        is_matrix = self._node.target not in _TRANSPOSING and any(map(is_packed, names))
        return is_matrix and super().insertable_tensor_check(tensor)


def _is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether tensors have the same dtype, shape and bits."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    pair = [row_major(tensor).reshape(-1).view(torch.uint8) for tensor in (one, other)]
    return torch.equal(*pair)


def _name(leaves: list[str]) -> str:
    """Returns a name for a tensor that depends on these weights."""
    common = os.path.commonpath(leaf.replace(".", "/") for leaf in leaves).replace("/", ".")
    stem = common.removesuffix(f".{SUFFIX}")
    return f"{stem}.{SUFFIX}" if stem else SUFFIX
