"""Writes the files beside an IR file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import torch

from unmess.core.files.reading import description
from unmess.core.files.writing import Replacements
from unmess.core.module.example import record
from unmess.core.module.table import (
    FORMAT,
    Table,
    example_file,
    table_file,
    versions,
    weights_file,
    write_table,
)
from unmess.core.module.tensors import write_tensors
from unmess.core.program.note import Note
from unmess.core.program.program import Program
from unmess.core.program.weights import check_weights
from unmess.core.signature.serialized import form_of
from unmess.core.signature.torch_signature import TorchSignature


def write_beside(
    ir_file: Path,
    replacements: Replacements,
    *,
    name: str,
    stage: str,
    entries: Mapping[str, TorchSignature],
    weights: Mapping[str, torch.Tensor],
    weight_mode: str,
    programs: Mapping[str, Program],
    tied: Mapping[str, str],
    notes: Iterable[Note],
) -> tuple[list[Path], tuple[Note, ...]]:
    """Writes the table, the tensors behind arguments, and the example call with eager's result.

    Args:
        replacements: holds the files back until the whole export is complete.
        name, stage, entries, weights, weight_mode, notes: as in a Module.
        programs: the captured program of each entry function; empty if there is none.
        tied: further names of tensors, mapped to the name that they are stored by.

    Returns:
        The paths of the files, the table first, and a note for each entry function whose results
        are not recorded.

    Raises:
        Error: stage `usage`; something in the call has no form without PyTorch.
        OSError: a file cannot be written.
    """
    forms = {entry: form_of(signature) for entry, signature in entries.items()}
    kinds = ("weight", "state")
    names = [a.name for s in entries.values() for a in s.arguments if a.kind in kinds]
    check_weights(entries, weights, "load")
    contents = {weights_file(ir_file): {name: weights[name] for name in names}}
    numbers, failures = {}, {}
    if programs:
        # With `splat`, the weights differ from the model's, so results cannot be compared.
        example, numbers, failures = record(programs, results=weight_mode != "splat")
        contents[example_file(ir_file)] = example
    missing = tuple(
        Note("example", f"the file has no results of {entry} to compare with: {cause}")
        for entry, cause in failures.items()
    )
    descriptions = {}
    for path, tensors in contents.items():
        if tensors:
            unfinished = replacements.beside(path)
            write_tensors(unfinished, tensors)
            descriptions[path] = description(unfinished)
    table = Table(
        format=FORMAT,
        name=name,
        stage=stage,
        weights=weight_mode,
        made_by=versions(),
        files={path.name: described for path, described in descriptions.items()},
        tied=dict(tied),
        notes=[[note.kind, note.text] for note in (*notes, *missing)],
        entries={entry: {**form, "example": numbers.get(entry)} for entry, form in forms.items()},
    )
    write_table(replacements.beside(table_file(ir_file)), table)
    return [table_file(ir_file), *descriptions], missing
