"""The analysis of an MLIR file. Nothing here needs PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipelines.analysis.analysis import Analysis, analyze_module
from pipelines.files import read_module
from unmess.core.model_sources import add_model_file


def analyze_file(
    path: str | Path, at: str | None = None, sizes: Mapping[str, int] | None = None
) -> Analysis:
    """Analyses the module in a file, lowered to the stage `at` first.

    Args:
        at: by default the stage that the file is at.
        sizes: of dynamic dimensions: `x.0` for axis 0 of the argument that was `x` in the model,
            `arg0.0` where it has no name.

    Raises:
        Error: stage `usage`, or the one that lowering failed at.
    """
    add_model_file(path)
    module = read_module(path, at)
    sizes = sizes or {}
    return analyze_module(module.ir, module.name, module.stage, values=sizes, given=sizes)
