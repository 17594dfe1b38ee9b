"""The source `file.pt2`: an ExportedProgram saved by `torch.export.save`."""

from __future__ import annotations

import torch

import importers.packed.operator  # noqa: F401 -- files of models with packed weights have this operator
from importers.sources.exported_program_safety import load
from importers.sources.missing import existing_file
from importers.sources.source import Source
from unmess.core.errors.error import Error, first_line


def find(path: str, trust: bool = False) -> Source:
    """Loads the ExportedProgram in the file at `path`, with its saved example inputs.

    Args:
        trust: whether the file may run code: unpickle objects, load compiled libraries.

    Raises:
        Error: stage `source`, if the file is missing, is not a saved ExportedProgram, or needs
            trust.
    """
    file = existing_file(path, (".pt2",))
    try:
        exported = torch.export.load(file) if trust else load(file)
    except Error:
        raise
    except Exception as problem:
        raise Error(
            "source",
            f"{path} is not a complete ExportedProgram: {first_line(problem)}",
            hint="write it with torch.export.save, by a PyTorch no newer than this one "
            f"({torch.__version__})",
        ) from problem
    if exported.example_inputs is None:
        problem = Error(
            "source",
            f"{path} has no example inputs",
            hint="give them with --input, or as unmess.capture(path, args)",
        )
        return Source(file.stem, exported, without_example=problem)
    args, kwargs = exported.example_inputs
    return Source(file.stem, exported, tuple(args), dict(kwargs))
