"""Writes the files beside an IR file."""

from __future__ import annotations

from pathlib import Path

from unmess.core.exported.example import record
from unmess.core.exported.table import (
    FORMAT,
    Table,
    example_file,
    table_file,
    versions,
    weights_file,
    write_table,
)
from unmess.core.exported.tensors import write_tensors
from unmess.core.files import description
from unmess.core.module import Module
from unmess.core.programs import Programs
from unmess.core.signature_form import form_of
from unmess.core.weights import check_weights
from unmess.core.writing import Replacements


def write_beside(ir_file: Path, module: Module, replacements: Replacements) -> list[Path]:
    """Writes the table, the tensors behind arguments, and the example call with eager's result.

    Args:
        replacements: holds the files back until the whole export is complete.

    Returns:
        The paths of the files, the table first.

    Raises:
        Error: stage `usage`; something in the call has no form without PyTorch.
        OSError: a file cannot be written.
    """
    forms = {entry: form_of(signature) for entry, signature in module.entries.items()}
    kinds = ("weight", "state")
    names = [a.name for s in module.entries.values() for a in s.arguments if a.kind in kinds]
    check_weights(module.entries, module.weights, "load")
    contents = {weights_file(ir_file): {name: module.weights[name] for name in names}}
    numbers = {}
    if module.program is not None:
        of = module.program
        programs = of.entries if isinstance(of, Programs) else {module.entry: of}
        # With `splat`, the weights differ from the model's, so results cannot be compared.
        example, numbers = record(programs, results=module.weight_mode != "splat")
        contents[example_file(ir_file)] = example
    descriptions = {}
    for path, tensors in contents.items():
        if tensors:
            unfinished = replacements.beside(path)
            write_tensors(unfinished, tensors)
            descriptions[path] = description(unfinished)
    table = Table(
        format=FORMAT,
        name=module.name,
        stage=module.stage,
        weights=module.weight_mode,
        made_by=versions(),
        files={path.name: described for path, described in descriptions.items()},
        tied={} if module.program is None else dict(module.program.tied),
        notes=[[note.kind, note.text] for note in module.notes],
        entries={entry: {**form, "example": numbers.get(entry)} for entry, form in forms.items()},
    )
    write_table(replacements.beside(table_file(ir_file)), table)
    return [table_file(ir_file), *descriptions]
