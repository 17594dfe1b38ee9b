"""Reads and writes StableHLO's portable artifacts, also those in files of `jax.export`.

They contain VHLO, the versioned form of StableHLO. A file of `jax.export` is a FlatBuffer around
such an artifact: https://docs.jax.dev/en/latest/export/export.html, `Exported.serialize()`.
"""

from __future__ import annotations

import re
import struct

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo
from torch_mlir.passmanager import PassManager

from unmess.core.errors.error import Error

_DIALECT = "vhlo."
_PRODUCER = re.compile(r"produced by: StableHLO_v([\d.]+)")


def to_stablehlo(module: ir.Module, name: str) -> None:
    """Converts VHLO to StableHLO in place. Leaves other modules unchanged.

    Args:
        name: name of the file, for the message.

    Raises:
        Error: stage `usage`; this version of StableHLO cannot express the VHLO.
    """
    if not any(each.operation.name.startswith(_DIALECT) for each in module.body.operations):
        return
    version = _stablehlo.get_current_version()
    steps = f"builtin.module(vhlo-to-version{{target={version}}},vhlo-legalize-to-stablehlo)"
    try:
        with module.context:
            PassManager.parse(steps).run(module.operation)
    except ir.MLIRError as problem:
        first = problem.error_diagnostics
        cause = first[0].message.splitlines()[0] if first else "no error message"
        raise Error(
            "usage",
            f"{name} has VHLO operations that StableHLO {version} cannot express: {cause}",
            hint="write the file with the version of StableHLO that this environment has",
        ) from problem


def artifact(module: ir.Module, version: str) -> bytes:
    """Returns a module of StableHLO as a portable artifact.

    Args:
        version: the version of StableHLO that the artifact is for; later ones can read it, too.

    Raises:
        Error: stage `stablehlo`; an operation has no form in that version.
    """
    try:
        return _stablehlo.serialize_portable_artifact(module, version)
    except (ValueError, ir.MLIRError) as problem:
        raise Error(
            "stablehlo",
            f"StableHLO {version} cannot express the program",
            hint=f"give a later version, up to {_stablehlo.get_current_version()}",
        ) from problem


def check_version(version: str) -> None:
    """Raises an Error (`usage`) if no artifact can be written for a version of StableHLO."""
    first, last = _stablehlo.get_minimum_version(), _stablehlo.get_current_version()
    if not _numbers(first) <= _numbers(version) <= _numbers(last):
        raise Error(
            "usage",
            f"cannot write a portable artifact for StableHLO {version}",
            hint=f"give a version from {first} to {last}",
        )


def newer_version(problem: ir.MLIRError) -> str | None:
    """Returns the StableHLO version of a file that does not parse, if it is newer than ours."""
    texts = [note.message for each in problem.error_diagnostics for note in each.notes]
    version = next((match[1] for text in texts if (match := _PRODUCER.search(text))), None)
    if version is None or _numbers(version) <= _numbers(_stablehlo.get_current_version()):
        return None
    return version


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part]


# Offsets in the FlatBuffer's vtable. JAX adds fields at the end, so these do not change.
_MODULE, _DEVICES = 30, 40
_BYTECODE = b"ML\xefR"


def module_in(content: bytes, name: str) -> bytes:
    """Returns the bytecode in a file of `jax.export`.

    Args:
        name: name of the file, for the message.

    Raises:
        Error: stage `usage`; it is not such a file, or the program is for several devices.
    """
    try:
        table = struct.unpack_from("<I", content, 0)[0]
        bytecode = _vector(content, table, _MODULE)
        devices = _number(content, table, _DEVICES)
    except struct.error as problem:
        raise _damaged(name) from problem
    if not bytecode.startswith(_BYTECODE):
        raise _damaged(name)
    if devices > 1:
        raise Error(
            "usage",
            f"{name} is a program for {devices} devices",
            hint="export the function without shardings",
        )
    return bytecode


def _damaged(name: str) -> Error:
    return Error(
        "usage",
        f"{name} is not a file of jax.export, or is damaged",
        hint="write the result of `jax.export.export(...)(...).serialize()` to the file",
    )


def _vector(content: bytes, table: int, field: int) -> bytes:
    place = _place(content, table, field)
    if place is None:
        return b""
    start = place + struct.unpack_from("<I", content, place)[0]
    length = struct.unpack_from("<I", content, start)[0]
    return content[start + 4 : start + 4 + length]


def _number(content: bytes, table: int, field: int) -> int:
    place = _place(content, table, field)
    return 1 if place is None else struct.unpack_from("<I", content, place)[0]


def _place(content: bytes, table: int, field: int) -> int | None:
    """Returns the position of a field's value; None if the file does not have the field."""
    fields = table - struct.unpack_from("<i", content, table)[0]
    if fields < 0 or field >= struct.unpack_from("<H", content, fields)[0]:
        return None
    offset = struct.unpack_from("<H", content, fields + field)[0]
    return table + offset if offset else None
