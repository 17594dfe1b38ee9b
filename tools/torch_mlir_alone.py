"""Lowers models with torch-mlir's own pipelines, by `torch_mlir.fx.export_and_import`."""

from __future__ import annotations

from typing import Any

from unmess.core.errors.error import first_line

_OUTPUT_TYPES = {"linalg": "linalg-on-tensors", "tosa": "tosa", "stablehlo": "stablehlo"}


def why_not(dialect: str, model: Any, *args: Any, **kwargs: Any) -> str | None:
    """Returns in one line why torch-mlir cannot lower a model to a dialect; None if it can.

    Args:
        model: a torch.nn.Module with the arguments of a call, or an ExportedProgram.
    """
    import torch
    from torch_mlir import fx

    try:
        with torch.no_grad():
            fx.export_and_import(model, *args, output_type=_OUTPUT_TYPES[dialect], **kwargs)
    except Exception as problem:
        lines = [line.strip() for line in str(problem).splitlines()]
        told = [line for line in lines if line.startswith("error:") and "unknown:" not in line]
        return told[0][:200] if told else first_line(problem, 200)
    return None
