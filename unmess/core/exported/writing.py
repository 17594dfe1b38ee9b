"""Writes what is beside an IR file."""

from __future__ import annotations

from pathlib import Path

import torch

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
from unmess.core.files import described
from unmess.core.module import Module
from unmess.core.programs import Programs
from unmess.core.signature_form import form_of


def write_beside(ir_file: Path, module: Module) -> list[Path]:
    """Writes the table, the tensors that are arguments, and the example call with eager's result.

    Returns:
        The files, the table first.

    Raises:
        Error: stage `usage`; something in the call has no form without PyTorch.
        OSError: a file cannot be written.
    """
    entries = {entry: form_of(signature) for entry, signature in module.entries.items()}
    kinds = ("weight", "state")
    names = [a.name for s in module.entries.values() for a in s.arguments if a.kind in kinds]
    files = _written(weights_file(ir_file), {name: module.weights[name] for name in names})
    if module.program is not None:
        of = module.program
        programs = of.entries if isinstance(of, Programs) else {module.entry: of}
        # What runs with other weights than the model's has nothing to be compared with.
        tensors, numbers = record(programs, results=module.weight_mode != "splat")
        files += _written(example_file(ir_file), tensors)
    else:
        numbers = {}
    write_table(
        ir_file,
        Table(
            format=FORMAT,
            name=module.name,
            stage=module.stage,
            weights=module.weight_mode,
            made_by=versions(),
            files=described(ir_file.parent, [path.name for path in files]),
            tied={} if module.program is None else dict(module.program.tied),
            notes=[[note.kind, note.text] for note in module.notes],
            entries={
                entry: {**form, "example": numbers.get(entry)} for entry, form in entries.items()
            },
        ),
    )
    return [table_file(ir_file), *files]


def _written(path: Path, tensors: dict[str, torch.Tensor]) -> list[Path]:
    if not tensors:
        return []
    write_tensors(path, tensors)
    return [path]
