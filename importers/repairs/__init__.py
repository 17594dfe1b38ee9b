"""Rewrites of decomposed graphs for constructs that torch-mlir does not import or lower."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from importers.repair_list import functions_of
from importers.repairs.constants import with_fitting_signature
from unmess.core.errors.error import Error, first_line
from unmess.core.errors.user_source import user_line
from unmess.core.program.note import Note


@dataclass(frozen=True)
class Repair:
    """A rewrite of a program's graph.

    Attributes:
        name: shown in notes.
        apply: changes the graph in place and returns the number of matches.
    """

    name: str
    apply: Callable[[torch.fx.Graph], int]


# In the order of `importers/repair_list.yaml`.
REPAIRS = tuple(Repair(listed.name, apply) for listed, apply in functions_of("rewrite"))


def apply_repairs(
    exported: torch.export.ExportedProgram,
) -> tuple[torch.export.ExportedProgram, list[Note]]:
    """Applies every repair that matches. Returns the new program and a note per applied repair.

    Args:
        exported: its graph is changed in place; do not use it afterwards.

    Raises:
        Error: stage `capture`.
    """
    notes = []
    for repair in REPAIRS:
        try:
            count = repair.apply(exported.graph)
        except Error:
            raise
        except Exception as problem:
            raise Error(
                "capture",
                f"the repair '{repair.name}' fails on the program: {first_line(problem)}",
                where=user_line(problem),
                hint="write this part of the model with simpler operators, and report the model "
                "as a bug of unmess",
            ) from problem
        if count:
            notes.append(Note("repair", f"{repair.name} ({count} times)"))
    return with_fitting_signature(exported) if notes else exported, notes
