"""The analysis of an MLIR file. Nothing here needs PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipelines.analysis.analysis import Analysis, analyze_module
from pipelines.lower import lower
from unmess.core.module import Module
from unmess.core.parsing import parse_file
from unmess.core.recognition import stage_of


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
    ir_module = parse_file(path)
    module = Module(Path(path).name, stage_of(ir_module), ir_module, None, {})
    if at not in (None, module.stage):
        module = lower(module, at)
    sizes = sizes or {}
    return analyze_module(module.ir, module.name, module.stage, values=sizes, given=sizes)
