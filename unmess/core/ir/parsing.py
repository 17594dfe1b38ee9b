"""Parses MLIR files, with all dialects that the project's pipelines know."""

from __future__ import annotations

from pathlib import Path

from torch_mlir import ir

from unmess.core.errors.error import Error
from unmess.core.ir.dialects import context_of_all
from unmess.core.ir.portable_artifact import module_in, newer_version, to_stablehlo
from unmess.core.ir.resources import short_resource
from unmess.core.options.names import JAX_SUFFIX


def parse(text: str | bytes, name: str) -> ir.Module:
    """Parses a module from text or bytecode, in a new context.

    Args:
        name: name of the file, for the message.

    Raises:
        Error: stage `usage`, with the position and the cause; the module does not parse, or a
            constant lacks elements.
    """
    return _parsed(lambda: ir.Module.parse(text), name)


def parse_file(path: str | Path) -> ir.Module:
    """Parses a module from a file, in a new context. Locations are lines of the file.

    Raises:
        Error: stage `usage`; there is no such file, or as for `parse`.
    """
    if not Path(path).is_file():
        raise Error("usage", f"no file {path}", hint="pass the path of an MLIR file")
    if Path(path).suffix == JAX_SUFFIX:
        return parse(module_in(Path(path).read_bytes(), str(path)), str(path))
    return _parsed(lambda: ir.Module.parseFile(str(path)), str(path))


def _parsed(parse, name: str) -> ir.Module:
    with context_of_all() as context:
        context.emit_error_diagnostics = False
        try:
            module = parse()
        except ir.MLIRError as problem:
            if version := newer_version(problem):
                raise Error(
                    "usage",
                    f"{name} needs StableHLO {version}, which is newer than the version "
                    "of this environment",
                    hint="write the file for an older version, or as text",
                ) from problem
            first = problem.error_diagnostics[0]
            raise Error(
                "usage", f"{name} does not parse: {first.location}: {first.message}"
            ) from problem
        to_stablehlo(module, name)
        if constant := short_resource(module):
            raise Error(
                "usage",
                f"{name} is damaged: {constant} has fewer elements than its type",
                hint="write the file again",
            )
        return module
