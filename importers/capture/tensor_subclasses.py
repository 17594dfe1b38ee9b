"""Weights that are tensor subclasses, such as torchao's quantized ones, as several weights.

`torch.export` keeps such a weight as one parameter, whose inner tensors the graph reads.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

# Names for the inner tensors of torchao's subclasses. Others keep theirs.
_NAMES = {
    "qdata": "integers",
    "scale": "scales",
    "zero_point": "zero_points",
    "act_quant_scale": "activation_scales",
}


def separate_inner_tensors(
    exported: torch.export.ExportedProgram,
) -> torch.export.ExportedProgram:
    """Returns a program whose graph has each inner tensor of a weight as an input.

    The inner tensor `scale` of `layer.weight` becomes the buffer `layer.weight.scales`. Weights
    that the graph uses in another way stay as they are.
    """
    weights = exported.state_dict
    found = {name for name in weights if is_traceable_wrapper_subclass(weights[name])}
    if not found:
        return exported
    module, signature = copy.deepcopy((exported.graph_module, exported.graph_signature))
    # Copies of some nodes, such as `input`, get another name.
    for copied, node in zip(module.graph.nodes, exported.graph.nodes, strict=True):
        copied.name = node.name
    state = dict(weights)
    specs: list[InputSpec] = []
    placeholders = module.graph.find_nodes(op="placeholder")
    for spec, node in zip(signature.input_specs, placeholders, strict=True):
        if spec.target in found and all(map(_is_access, node.users)):
            inner = _separated(node, spec.target, state.pop(spec.target))
            state |= {each.target: tensor for each, tensor in inner}
            specs += [each for each, _ in inner]
        else:
            specs.append(spec)
    signature.input_specs[:] = specs
    module.recompile()
    return exported._update(module, signature, state_dict=state)


def _separated(node: torch.fx.Node, name: str, weight: Any) -> list[tuple[InputSpec, torch.Tensor]]:
    """Replaces a placeholder by one for each inner tensor that the graph reads."""
    found = []
    for attribute in weight.__tensor_flatten__()[0]:
        users = [user for user in node.users if user.args[1] == attribute]
        if not users:
            continue
        target = f"{name}.{_NAMES.get(attribute, attribute)}"
        with node.graph.inserting_before(node):
            inner = node.graph.placeholder(f"b_{target.replace('.', '_')}")
        inner.meta["val"] = getattr(node.meta["val"], attribute)
        for user in users:
            user.replace_all_uses_with(inner)
            node.graph.erase_node(user)
        argument = TensorArgument(inner.name)
        spec = InputSpec(InputKind.BUFFER, argument, target, persistent=True)
        found.append((spec, getattr(weight, attribute).detach()))
    node.graph.erase_node(node)
    return found


def _is_access(node: torch.fx.Node) -> bool:
    return node.target is torch.ops.export.access_subclass_inner_tensor.default
