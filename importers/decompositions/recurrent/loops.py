"""One recurrent layer in one direction, as a loop over its steps."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch._higher_order_ops.while_loop import while_loop_op

from importers.decompositions.recurrent.cells import Cell, Weights

Tensor = torch.Tensor


def run(
    cell: Cell,
    x: Tensor,
    start: Sequence[Tensor],
    weights: Weights,
    backwards: bool,
    lengths: Tensor | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """Runs a cell over all steps. The products of the inputs are computed before the loop.

    Args:
        x: (steps, batch, width), at least one step.
        start: the initial state, each (batch, size).
        backwards: start with the last step.
        lengths: i64 (steps). Step t only changes the first `lengths[t]` sequences of the batch;
            by default all.

    Returns:
        The first value of the state after each step (steps, batch, size), and the final state.
        Where a step changes nothing, the output repeats the state.
    """
    bias, constants = cell.outside(weights)
    own = F.linear(x.flip(0) if backwards else x, weights.own, bias)
    steps, count = own.shape[0], len(start)
    outputs = own.new_zeros((steps, *start[0].shape))
    if lengths is not None:
        constants = [*constants, lengths.flip(0) if backwards else lengths]

    def more(number: Tensor, *_: Tensor) -> Tensor:
        return number < steps

    def advance(number: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        state, outputs, own, constants = (
            rest[:count],
            rest[count],
            rest[count + 1],
            rest[count + 2 :],
        )
        place = number.reshape(1)
        now = own.index_select(0, place).squeeze(0)
        if lengths is None:
            after = cell.advance(now, state, constants)
        else:
            *constants, sizes = constants
            is_inside = torch.arange(own.shape[1]) < sizes.index_select(0, place)
            after = cell.advance(now, state, constants)
            after = [
                torch.where(is_inside.unsqueeze(1), new, old)
                for new, old in zip(after, state, strict=True)
            ]
        outputs = outputs.index_put((place,), after[0].unsqueeze(0))
        return number + 1, *after, outputs

    first = torch.zeros((), dtype=torch.int64)
    # A loop requires that the strides of its state do not change, and that nothing shares memory.
    start = [state.clone(memory_format=torch.contiguous_format) for state in start]
    _, *after, outputs = while_loop_op(more, advance, (first, *start, outputs), (own, *constants))
    return (outputs.flip(0) if backwards else outputs), after
