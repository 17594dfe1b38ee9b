"""Reads files of `jax.export`: a FlatBuffer around a portable artifact of StableHLO.

https://docs.jax.dev/en/latest/export/export.html: `Exported.serialize()` returns such a file.
"""

from __future__ import annotations

import struct

from unmess.core.errors.error import Error

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
