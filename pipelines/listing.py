"""The steps of a pipeline as a person reads them."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.pipeline import Pipeline
from pipelines.reference.order import ORDER
from pipelines.registry import PIPELINES


@dataclass(frozen=True)
class Entry:
    """A step.

    Attributes:
        name: what `--print-after` and the like go by.
        text: the pass with its options, as MLIR spells it; the name of a step in Python.
        why: it is there.
    """

    name: str
    text: str
    why: str


def steps_of(name: str) -> list[Entry]:
    """Those of a pipeline, or of the whole way that the reference runner takes (`reference`)."""
    entries = []
    for part in ORDER if name == "reference" else (PIPELINES[name],):
        for step in part.steps if isinstance(part, Pipeline) else (part,):
            entries.append(Entry(step.name, getattr(step, "text", step.name), step.why))
    return entries
