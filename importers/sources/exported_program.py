"""`file.pt2`: an ExportedProgram saved by `torch.export.save`."""

from __future__ import annotations

from pathlib import Path

import torch

from importers.sources.source import Source
from unmess.core.error import Error, first_line
from unmess.core.suggest import did_you_mean


def find(path: str) -> Source:
    """The ExportedProgram in the file at `path`, with the example inputs saved with it.

    Raises:
        Error: stage `source`; the file is missing, or is not a saved ExportedProgram.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        there = [str(entry) for entry in file.parent.glob("*.pt2")] if file.parent.is_dir() else []
        raise Error("source", f"no file {path}", hint=did_you_mean(str(file), there))
    try:
        exported = torch.export.load(file)
    except Exception as problem:
        raise Error(
            "source",
            f"{path} is not a whole ExportedProgram: {first_line(problem)}",
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
