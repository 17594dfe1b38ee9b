"""Creates the notes on everything that a capture changed or fixed."""

from __future__ import annotations

from typing import Any

import torch

from importers.capture.make_fx import MakeFx
from importers.capture.strategies import Draft
from unmess.core.errors.error import first_line
from unmess.core.program.note import Note
from unmess.core.program.program import Program
from unmess.core.program.weights import brief
from unmess.core.signature.signature import Constant


def capture_notes(model: Any, program: Program) -> tuple[Note, ...]:
    """Returns the notes on a newly captured program."""
    notes = [
        Note("fallback", f"strategy {attempt.strategy} failed: {first_line(attempt.error)}")
        for attempt in program.attempts
        if attempt.error is not None
    ]
    if program.strategy == Draft.name:
        notes.append(
            Note("fallback", "draft export assumes conditions that may hold for the example only")
        )
    training = _training_layers(model)
    if program.strategy == MakeFx.name:
        notes.append(
            Note("gradients", "captured by make_fx, including the operators that autograd runs")
        )
    elif training:
        notes.append(
            Note(
                "training", f"captured in training mode ({', '.join(training)}): call eval() first"
            )
        )
    fixed = [
        f"{leaf.name}={leaf.spec.value!r}"
        for leaf in program.signature.inputs
        if isinstance(leaf.spec, Constant) and leaf.spec.value is not None
    ]
    if fixed:
        notes.append(Note("specialized", f"fixed to the example's values: {', '.join(fixed)}"))
    if program.specialized:
        shown = ", ".join(f"{one.name} = {brief(one.value)}" for one in program.specialized)
        notes.append(Note("specialized", f"control flow fixed to the values of {shown}"))
    states = [result.name for result in program.signature.results if result.kind == "state"]
    if states:
        notes.append(
            Note(
                "state",
                f"state that the model writes and the Executable keeps: {', '.join(states)}",
            )
        )
    if program.tied:
        pairs = ", ".join(f"{name} = {first}" for name, first in sorted(program.tied.items()))
        notes.append(Note("tied", f"tied weights, stored once: {pairs}"))
    return tuple(notes)


def _training_layers(model: Any) -> list[str]:
    """Returns the types of dropout and batch norm layers in `model` that are in training mode."""
    if not isinstance(model, torch.nn.Module):
        return []
    kinds = {type(layer).__name__ for layer in model.modules() if layer.training}
    return sorted(kind for kind in kinds if "Dropout" in kind or "BatchNorm" in kind)
