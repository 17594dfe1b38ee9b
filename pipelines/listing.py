"""Lists the steps of a pipeline for display."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.pipeline import Pipeline
from pipelines.reference.pipeline import PIPELINE
from pipelines.registry import PIPELINES


@dataclass(frozen=True)
class Entry:
    """A step.

    Attributes:
        name: the name for `--print-after` and similar options.
        text: the pass with its options in MLIR's syntax; for a step in Python its name.
        why: the reason for the step.
    """

    name: str
    text: str
    why: str


def steps_of(name: str) -> list[Entry]:
    """Returns the steps of a pipeline, or all steps of the reference runner (`reference`)."""
    entries = []
    for part in PIPELINE if name == "reference" else (PIPELINES[name],):
        for step in part.steps if isinstance(part, Pipeline) else (part,):
            entries.append(Entry(step.name, step.text, step.why))
    return entries
