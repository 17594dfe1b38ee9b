"""Analyzes MLIR files, without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipelines.analysis.analysis import Analysis, analyze_module
from pipelines.files import read_module
from unmess.core.errors.model_sources import add_model_file


def analyze_file(
    path: str | Path, at: str | None = None, sizes: Mapping[str, int] | None = None
) -> Analysis:
    """Analyzes the module in a file, after lowering it to the stage `at`.

    Args:
        at: the stage; by default that of the file.
        sizes: sizes of dynamic dimensions by name: `x.0` for axis 0 of the model's argument `x`,
            `arg0.0` if the argument has no name.

    Raises:
        Error: stage `usage`, or the stage at which lowering failed.
    """
    add_model_file(path)
    module = read_module(path, at)
    sizes = sizes or {}
    return analyze_module(module.ir, module.name, module.stage, values=sizes, given=sizes)
