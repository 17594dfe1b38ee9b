"""Loops over tensors, in the form that the importer supports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._higher_order_ops.while_loop import while_loop_op

from importers.decompositions.complex_pair import Complex

Step = Callable[..., Sequence[Any]]


def repeat(count: int, step: Step, state: Sequence[Any], constants: Sequence[Any] = ()) -> list:
    """Runs `step(k, *state, *constants)`, which returns the new state, for k = 0, ..., `count` - 1.

    Args:
        step: reads only its arguments and captures no other tensors. k is i64 `[]`.
        state: tensors and `Complex`, whose shapes and dtypes do not change.
        constants: further arguments of `step`.
    """
    # The counter is a state that starts as a constant, so the importer finds the number of rounds.
    number = torch.zeros((), dtype=torch.int64)
    return repeat_while(
        lambda k, *_: k < count,
        lambda k, *rest: (k + 1, *step(k, *rest)),
        (number, *state),
        constants,
    )[1:]


def repeat_while(
    condition: Callable[..., torch.Tensor],
    step: Step,
    state: Sequence[Any],
    constants: Sequence[Any] = (),
) -> list:
    """Runs `step(*state, *constants)` while `condition` (bool `[]`) of the same arguments holds."""
    values = (*state, *constants)

    def call(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *flat: function(*_grouped(flat, values))

    def new_state(*flat: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return _row_major(call(step)(*flat))

    start = _row_major(state)
    flat = while_loop_op(call(condition), new_state, start, tuple(_flat(constants)))
    return _grouped(flat, state)


def _row_major(values: Sequence[Any]) -> tuple[torch.Tensor, ...]:
    """Returns the tensors of `values`, copied to row-major order.

    A loop requires that the strides of its state do not change.
    """
    return tuple(
        x.clone(memory_format=torch.contiguous_format) if x.dim() else x for x in _flat(values)
    )


def _flat(values: Sequence[Any]) -> list[torch.Tensor]:
    return [
        part
        for value in values
        for part in ((value.real, value.imaginary) if isinstance(value, Complex) else (value,))
    ]


def _grouped(flat: Sequence[torch.Tensor], like: Sequence[Any]) -> list[Any]:
    parts = iter(flat)
    return [
        Complex(next(parts), next(parts)) if isinstance(value, Complex) else next(parts)
        for value in like
    ]
