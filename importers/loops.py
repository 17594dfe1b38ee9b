"""Repeats a step: unrolled if it is repeated a few times, else as a loop of the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._higher_order_ops.while_loop import while_loop_op
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.utils import _pytree as pytree

Tensor = torch.Tensor
# (step number, state, tensors from outside) -> (new state, results to collect).
Step = Callable[[Tensor | int, Sequence[Tensor], Any], tuple[Sequence[Tensor], Sequence[Tensor]]]
UNROLLED = 8


def repeated(
    count: int | torch.SymInt, step: Step, state: Sequence[Tensor], outside: Any
) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the state after `count` steps, and the collected results stacked along a new axis 0.

    Args:
        step: receives the step number as an integer or an i64 tensor of one element. The state
            keeps its shapes. The step may only use tensors from the state and from `outside`.
        outside: a pytree of tensors that is passed to `step`.
    """
    is_traced = get_proxy_mode() is not None
    if isinstance(count, int) and (count <= UNROLLED or not is_traced):
        return _unrolled(count, step, state, outside)
    state = list(state)
    _, sample = step(torch.zeros((1,), dtype=torch.int64), state, outside)
    buffers = [torch.zeros((count, *x.shape), dtype=x.dtype) for x in sample]

    def more(carried: Sequence[Tensor], _outside: Any) -> Tensor:
        return (carried[0] < count).reshape(())

    def advance(carried: Sequence[Tensor], outside: Any) -> list[Tensor]:
        number, before = carried[0], carried[1 : len(state) + 1]
        after, given = step(number, before, outside)
        written = [
            buffer.index_copy(0, number, x.unsqueeze(0))
            for buffer, x in zip(carried[len(state) + 1 :], given, strict=True)
        ]
        return [number + 1, *after, *written]

    first = torch.zeros((1,), dtype=torch.int64)
    _, *after = while_loop(more, advance, [first, *state, *buffers], outside)
    return after[: len(state)], after[len(state) :]


def while_loop(
    more: Callable[[Sequence[Tensor], Any], Tensor],
    advance: Callable[[Sequence[Tensor], Any], Sequence[Tensor]],
    carried: Sequence[Tensor],
    outside: Any,
) -> list[Tensor]:
    """Calls `torch.while_loop`, with the tensors from outside as an explicit argument.

    PyTorch finds such tensors by analyzing Python code, which does not work for code that
    interprets a graph.
    """
    if get_proxy_mode() is None:
        while bool(more(carried, outside)):
            carried = advance(carried, outside)
        return list(carried)
    leaves, spec = pytree.tree_flatten(outside)
    count = len(carried)

    def condition(*operands: Tensor) -> Tensor:
        return more(operands[:count], pytree.tree_unflatten(operands[count:], spec))

    def body(*operands: Tensor) -> tuple[Tensor, ...]:
        after = advance(operands[:count], pytree.tree_unflatten(operands[count:], spec))
        # A loop may not return one of its operands, or the same tensor twice.
        return tuple(x.clone() for x in after)

    start = tuple(x.clone() for x in carried)
    return list(while_loop_op(condition, body, start, apart(leaves)))


def apart(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Clones tensors that share memory, because PyTorch's loops and branches reject aliases."""
    seen: set[int] = set()
    found = []
    for tensor in tensors:
        memory = tensor.untyped_storage()._cdata
        found.append(tensor.clone() if memory in seen else tensor)
        seen.add(memory)
    return tuple(found)


def _unrolled(
    count: int, step: Step, state: Sequence[Tensor], outside: Any
) -> tuple[list[Tensor], list[Tensor]]:
    collected: list[Sequence[Tensor]] = []
    for number in range(count):
        state, given = step(number, state, outside)
        collected.append(given)
    return list(state), [torch.stack(each) for each in zip(*collected, strict=True)]


def element(x: Tensor, number: Tensor | int, axis: int = 0) -> Tensor:
    """Returns the slice at a step and removes its axis."""
    if isinstance(number, int):
        return x.select(axis, number)
    return x.index_select(axis, number).squeeze(axis)
