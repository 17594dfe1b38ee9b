"""Rewrites of `as_strided`, and of assertions about storage, which tensors in MLIR lack."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import torch

from importers.decompositions import decomposition_table
from importers.decompositions.tracing import tracing
from importers.repairs.retrace import replace_call

_AS_STRIDED = torch.ops.aten.as_strided.default
_VIEW = torch.ops.aten.view.default
# Operators whose result always lies in the memory of their first operand.
_VIEWS = tuple(
    getattr(torch.ops.aten, name)
    for name in (
        "alias",
        "as_strided",
        "detach",
        "diagonal",
        "expand",
        "permute",
        "select",
        "slice",
        "squeeze",
        "t",
        "transpose",
        "unfold",
        "unsqueeze",
        "view",
    )
)


def drop_layout_only_as_strided(graph: torch.fx.Graph) -> int:
    """Removes every `as_strided` that keeps the elements and their order; returns how many.

    If shape and offset are the same and strides differ only in dimensions of size 1, the operand
    replaces it. This occurs after `adaptive_avg_pool2d` of a channels-last tensor. If both tensors
    are contiguous with the same number of elements, a view replaces it. This occurs in a group norm
    with one channel per group.
    """
    replaced = 0
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target is not _AS_STRIDED:
            continue
        operand = node.args[0]
        if _is_layout_only(node):
            node.replace_all_uses_with(operand)
        elif _is_view(node):
            with graph.inserting_before(node):
                view = graph.call_function(_VIEW, (operand, node.args[1]))
            view.meta = dict(node.meta)
            node.replace_all_uses_with(view)
        else:
            continue
        graph.erase_node(node)
        replaced += 1
    return replaced


def _is_view(node: torch.fx.Node) -> bool:
    operand, result = node.args[0].meta["val"], node.meta["val"]
    return (
        operand.is_contiguous()
        and result.is_contiguous()
        and operand.numel() == result.numel()
        and operand.storage_offset() == result.storage_offset()
    )


def _is_layout_only(node: torch.fx.Node) -> bool:
    operand, result = node.args[0].meta["val"], node.meta["val"]
    return (
        operand.shape == result.shape
        and operand.storage_offset() == result.storage_offset()
        and all(
            ours == theirs
            for size, ours, theirs in zip(
                operand.shape, operand.stride(), result.stride(), strict=True
            )
            if size != 1
        )
        and not any(user.op == "output" for user in node.users)
    )


def gather_strided(graph: torch.fx.Graph) -> int:
    """Replaces `as_strided` by `index_select` of the tensor that owns the memory; returns how many.

    Calls with dynamic sizes are left unchanged. So are those on a tensor whose elements do not fill
    its memory, such as every second column of a larger one.
    """
    found = [
        (node, selection)
        for node in graph.nodes
        if node.op == "call_function"
        and node.target is _AS_STRIDED
        and (selection := _selection(node)) is not None
    ]
    if not found:
        return 0
    with tracing(graph, decomposition_table()) as table:
        for node, selection in found:
            node.args = (selection.owner,)
            node.kwargs = {}
            replace_call(node, selection.apply, table)
    return len(found)


@dataclass(frozen=True)
class _Selection:
    """The elements that a call of `as_strided` selects from the memory of a tensor.

    Attributes:
        owner: the node whose tensor owns the memory.
        expanded: dimensions of the owner with stride 0.
        order: its other dimensions, by decreasing strides.
        size, stride, offset: of the result, in elements.
    """

    owner: torch.fx.Node
    expanded: tuple[int, ...]
    order: tuple[int, ...]
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    def apply(self, x: torch.Tensor) -> torch.Tensor:
        """Returns the selected elements of `x`, the tensor of `owner`."""
        for dim in self.expanded:
            x = x.narrow(dim, 0, 1)
        memory = x.permute(*self.order, *self.expanded).reshape(-1)
        place = torch.full((), self.offset, dtype=torch.int64)
        for length, step in zip(self.size, self.stride, strict=True):
            place = place.unsqueeze(-1) + torch.arange(length) * step
        return memory.index_select(0, place.reshape(-1)).reshape(self.size)


def _selection(node: torch.fx.Node) -> _Selection | None:
    """Returns the selection of a call of `as_strided`; None if the call must stay unchanged."""
    operand = node.args[0]
    owner = _owner(operand)
    memory = owner.meta["val"]
    size, stride = node.args[1], node.args[2]
    offset = node.args[3] if len(node.args) > 3 else node.kwargs.get("storage_offset")
    if offset is None:
        offset = operand.meta["val"].storage_offset()
    if memory.dtype != operand.meta["val"].dtype:
        return None
    numbers = (*memory.shape, *memory.stride(), memory.storage_offset(), *size, *stride, offset)
    if not all(isinstance(number, int) for number in numbers) or memory.storage_offset():
        return None
    dims = range(memory.ndim)
    expanded = tuple(dim for dim in dims if memory.stride(dim) == 0 and memory.shape[dim] > 1)
    order = sorted(set(dims) - set(expanded), key=lambda dim: (-memory.stride(dim), dim))
    # Sizes of 1 may have any stride.
    filled = 1
    for dim in reversed(order):
        if memory.shape[dim] > 1 and memory.stride(dim) != filled:
            return None
        filled *= memory.shape[dim]
    last = offset + sum(step * (length - 1) for length, step in zip(size, stride, strict=True))
    if all(size) and last >= filled:
        return None
    return _Selection(owner, expanded, tuple(order), tuple(size), tuple(stride), offset)


def _owner(node: torch.fx.Node) -> torch.fx.Node:
    """Returns the node that a chain of views starts from."""
    while getattr(node.target, "overloadpacket", None) in _VIEWS:
        node = node.args[0]
    return node


aten = torch.ops.aten

_OFFSET = aten.sym_storage_offset.default
_COMPARISONS = frozenset({operator.ge, operator.gt, operator.le, operator.lt})


def drop_assertions_of_offsets(graph: torch.fx.Graph) -> int:
    """Removes the assertions that an offset in memory is in a range; returns how many.

    `torch.export` adds them if a view starts at a position that depends on data.
    """
    assertions = [node for node in graph.nodes if _is_about_an_offset(node)]
    for assertion in assertions:
        condition = assertion.args[0]
        graph.erase_node(assertion)
        offset = condition.args[0]
        for node in (condition, offset):
            if not node.users:
                graph.erase_node(node)
    return len(assertions)


def _is_about_an_offset(node: torch.fx.Node) -> bool:
    if node.target is not aten._assert_scalar.default:
        return False
    condition = node.args[0]
    if not isinstance(condition, torch.fx.Node) or condition.target not in _COMPARISONS:
        return False
    offset, bound = condition.args
    return isinstance(bound, int) and getattr(offset, "target", None) is _OFFSET
