"""Folds scales and shifts of channels into the convolution or matrix product before them.

`torch.nn.utils.fusion.fuse_conv_bn_weights` folds a batch norm, but programs are decomposed: a
batch norm is a chain of `sub`, `mul` and `add`, as are other layers that scale channels. The helper
also does not take grouped transposed convolutions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from importers.folding.weights import SUFFIX, add_constant, named_constants

_aten = torch.ops.aten
_CONVERT = torch.ops.prims.convert_element_type.default
_ARITHMETIC = {
    _aten.add.Tensor: "add",
    _aten.add.Scalar: "add",
    _aten.sub.Tensor: "sub",
    _aten.sub.Scalar: "sub",
    _aten.mul.Tensor: "mul",
    _aten.mul.Scalar: "mul",
    _aten.div.Tensor: "div",
    _aten.div.Scalar: "div",
}
_Constants = Mapping[torch.fx.Node, tuple[str, torch.Tensor]]
# The new weights, by the name before `add_constant` makes it unique.
_Added = dict[str, list[tuple[torch.Tensor, torch.fx.Node]]]


@dataclass(frozen=True)
class _Affine:
    """A scale and a shift for each channel, in float64: `x * scale + shift`."""

    scale: torch.Tensor
    shift: torch.Tensor

    @property
    def is_finite(self) -> bool:
        return bool(torch.isfinite(self.scale).all() and torch.isfinite(self.shift).all())

    @property
    def is_scale(self) -> bool:
        """Whether any scale differs from 1."""
        return bool((self.scale != 1).any())

    @property
    def is_identity(self) -> bool:
        return not self.is_scale and not bool(self.shift.any())


def fold_scales(exported: torch.export.ExportedProgram, state: Collection[str]) -> int:
    """Folds chains of per-channel arithmetic with constants into new weights, in place.

    A chain starts after a convolution or a matrix product with a constant weight, whose result has
    no other use. Chains with numbers that are not finite stay, and so do those for which the scaled
    weight could overflow or become 0: the result would differ from eager's for extreme inputs.

    Args:
        state: the names of the tensors that calls change.

    Returns:
        The number of convolutions and products that got new weights.
    """
    constants = named_constants(exported, state)
    added: _Added = {}
    count = 0
    for node in list(exported.graph.nodes):
        if node.target is _aten.convolution.default:
            count += _fold_convolution(node, constants, added)
        elif node.target is _aten.mm.default:
            count += _fold_product(node, constants, added)
    return count


def _fold_convolution(node: torch.fx.Node, constants: _Constants, added: _Added) -> bool:
    weight, bias = node.args[1], node.args[2]
    transposed, groups = node.args[6], node.args[8]
    value = node.meta["val"]
    if weight not in constants or (bias is not None and bias not in constants):
        return False
    tensor = constants[weight][1].detach()
    if tensor.dim() != value.dim() or not value.is_floating_point():
        return False
    channels = tensor.shape[1] * groups if transposed else tensor.shape[0]
    found = _chain(node, constants, axis=1, channels=channels)
    if found is None or found[1].is_identity:
        return False
    end, affine = found
    ones = [1] * (tensor.dim() - 2)
    if transposed:
        grouped = tensor.double().unflatten(0, (groups, -1))
        wide = (grouped * affine.scale.reshape(groups, 1, -1, *ones)).flatten(0, 1)
    else:
        wide = tensor.double() * affine.scale.reshape(-1, 1, *ones)
    own = 0.0 if bias is None else constants[bias][1].detach().double()
    new_weight, new_bias = (
        wide.to(tensor.dtype),
        (own * affine.scale + affine.shift).to(value.dtype),
    )
    if not (_is_safe(tensor, new_weight) and _is_moderate(new_bias)):
        return False
    graph, name = node.graph, _stem(constants[weight][0])
    weight_node = _shared(graph, added, f"{name}weight.{SUFFIX}", new_weight)
    bias_node = _shared(graph, added, f"{name}bias.{SUFFIX}", new_bias)
    with graph.inserting_before(node):
        folded = graph.call_function(
            node.target, (node.args[0], weight_node, bias_node, *node.args[3:])
        )
    _replace(node, end, folded)
    return True


def _fold_product(node: torch.fx.Node, constants: _Constants, added: _Added) -> bool:
    weight, value = node.args[1], node.meta["val"]
    if weight not in constants or not value.is_floating_point():
        return False
    tensor = constants[weight][1].detach()
    found = _chain(node, constants, axis=1, channels=tensor.shape[1])
    # A shift alone is the bias, which is added after the product anyway.
    if found is None or not found[1].is_scale:
        return False
    end, affine = found
    new_weight, shift = (
        (tensor.double() * affine.scale).to(tensor.dtype),
        affine.shift.to(value.dtype),
    )
    if not (_is_safe(tensor, new_weight) and _is_moderate(shift)):
        return False
    graph, name = node.graph, _stem(constants[weight][0])
    weight_node = _shared(graph, added, f"{name}weight.{SUFFIX}", new_weight)
    with graph.inserting_before(node):
        folded = graph.call_function(node.target, (node.args[0], weight_node))
    folded.meta = dict(node.meta)
    if bool(shift.any()):
        bias_node = _shared(graph, added, f"{name}bias.{SUFFIX}", shift)
        with graph.inserting_before(node):
            folded = graph.call_function(_aten.add.Tensor, (folded, bias_node))
    _replace(node, end, folded)
    return True


def _is_safe(old: torch.Tensor, new: torch.Tensor) -> bool:
    """Whether a scaled weight neither overflows nor underflows where the old one did not."""
    return _is_moderate(old) and _is_moderate(new) and torch.equal(old == 0, new == 0)


def _is_moderate(tensor: torch.Tensor) -> bool:
    """Whether all magnitudes are at most the square root of the largest number of the dtype.

    Products of such numbers rarely overflow. NaN and infinity are too large.
    """
    return bool((tensor.abs() <= torch.finfo(tensor.dtype).max ** 0.5).all())


def _shared(graph: torch.fx.Graph, added: _Added, name: str, tensor: torch.Tensor) -> torch.fx.Node:
    """Returns the new weight. Layers that the model calls several times share it."""
    for other, node in added.setdefault(name, []):
        if torch.equal(other, tensor):
            return node
    node = add_constant(graph, name, tensor)
    added[name].append((tensor, node))
    return node


def _replace(node: torch.fx.Node, end: torch.fx.Node, folded: torch.fx.Node) -> None:
    folded.meta = dict(node.meta)
    end.replace_all_uses_with(folded)


def _stem(name: str) -> str:
    """Returns the module's prefix of the name of a weight: `conv.` for `conv.weight.folded`."""
    stem = name.removesuffix(f".{SUFFIX}")
    return stem.removesuffix("weight") if stem.endswith((".weight", "weight")) else f"{stem}."


def _chain(
    start: torch.fx.Node, constants: _Constants, axis: int, channels: int
) -> tuple[torch.fx.Node, _Affine] | None:
    """Returns the last node that scales and shifts the channels of `start`, and by how much.

    Returns None if there is no such node.

    Args:
        axis: the axis of the channels in the result of `start`.
    """
    value = start.meta["val"]
    affine = _Affine(
        torch.ones(channels, dtype=torch.float64), torch.zeros(channels, dtype=torch.float64)
    )
    node, best = start, None
    while len(node.users) == 1:
        user = next(iter(node.users))
        following = _step(user, node, affine, constants, axis, value.dim())
        if following is None:
            break
        if not following.is_finite:
            return None
        result = user.meta["val"]
        if not result.is_floating_point() or result.dim() != value.dim():
            break
        node, affine = user, following
        # A chain ends in the dtype of `start`. Batch norms of narrow dtypes compute in float32.
        if result.dtype == value.dtype:
            best = node, affine
    return best


def _step(
    user: torch.fx.Node,
    operand: torch.fx.Node,
    before: _Affine,
    constants: _Constants,
    axis: int,
    rank: int,
) -> _Affine | None:
    """Returns the scale and shift after one more node; None if the node is something else."""
    if user.target is _CONVERT:
        return before
    kind = _ARITHMETIC.get(user.target)
    if kind is None or set(user.kwargs) - {"alpha"}:
        return None
    first, second, *more = user.args
    if more or (first is operand) == (second is operand):
        return None
    alpha = user.kwargs.get("alpha", 1)
    other = _by_channel(
        second if first is operand else first, constants, axis, rank, before.scale.numel()
    )
    if other is None or not isinstance(alpha, (int, float)):
        return None
    scale, shift = before.scale, before.shift
    if kind == "mul":
        return _Affine(scale * other, shift * other)
    if kind == "div":
        return _Affine(scale / other, shift / other) if first is operand else None
    sign = alpha if kind == "add" else -alpha
    if first is operand:
        return _Affine(scale, shift + sign * other)
    return _Affine(sign * scale, sign * shift + other)


def _by_channel(
    value: Any, constants: _Constants, axis: int, rank: int, channels: int
) -> torch.Tensor | None:
    """Returns a constant operand as a number or one number for each channel, in float64."""
    if isinstance(value, (int, float)):
        return torch.tensor(value, dtype=torch.float64)
    if value not in constants:
        return None
    tensor = constants[value][1].detach()
    if tensor.dim() > rank or not tensor.is_floating_point():
        return None
    shape = (*[1] * (rank - tensor.dim()), *tensor.shape)
    if any(size != 1 for place, size in enumerate(shape) if place != axis):
        return None
    # More elements would broadcast a single channel.
    return tensor.double().reshape(-1) if tensor.numel() in (1, channels) else None
