"""MLIR files, with all the dialects that the project's pipelines know."""

from __future__ import annotations

from pathlib import Path

from torch_mlir import ir
from torch_mlir.dialects import torch as torch_d
from torch_mlir.passmanager import PassManager

from unmess.core.error import Error


def parse(text: str | bytes, name: str) -> ir.Module:
    """A module from its text or bytecode, in a context of its own.

    Args:
        name: of the file, for the message.

    Raises:
        Error: stage `usage`, with the place and the cause, where it does not parse.
    """
    return _parsed(lambda: ir.Module.parse(text), name)


def parse_file(path: str | Path) -> ir.Module:
    """A module from a file, whose lines are its operations' locations. See `parse`."""
    if not Path(path).is_file():
        raise Error("usage", f"no file {path}", hint="give the path of an MLIR file")
    return _parsed(lambda: ir.Module.parseFile(str(path)), str(path))


def _parsed(parse, name: str) -> ir.Module:
    with ir.Context() as context:
        context.emit_error_diagnostics = False
        torch_d.register_dialect(context)
        _load_tm_tensor()
        try:
            return parse()
        except ir.MLIRError as problem:
            first = problem.error_diagnostics[0]
            raise Error(
                "usage", f"{name} does not parse: {first.location}: {first.message}"
            ) from problem


def _load_tm_tensor() -> None:
    """torch-mlir registers tm_tensor with the passes that make it, not with its dialects."""
    with ir.Location.unknown():
        empty = ir.Module.create()
    PassManager.parse("builtin.module(func.func(convert-torch-to-tmtensor))").run(empty.operation)
