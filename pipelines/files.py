"""Reads MLIR files as modules at a stage, without PyTorch."""

from __future__ import annotations

from pathlib import Path

from pipelines.lower import lower
from unmess.core.ir.parsing import parse_file
from unmess.core.ir.recognition import stage_of
from unmess.core.module.module import Module
from unmess.core.processes.current_stage import enter_stage


def read_module(path: str | Path, at: str | None = None) -> Module:
    """Returns the module in a file, lowered to the stage `at`. It has no signature.

    Args:
        at: by default the stage of the file.

    Raises:
        Error: stage `usage`, or the stage at which lowering failed.
    """
    enter_stage("source")
    ir_module = parse_file(path)
    module = Module(Path(path).name, stage_of(ir_module), ir_module, None, {})
    return module if at in (None, module.stage) else lower(module, at)
