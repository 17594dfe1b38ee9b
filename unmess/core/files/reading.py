"""Reads files safely, and checks files that belong together by size and SHA-256."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

# The checksums of files up to this size in bytes are always checked.
_SMALL = 16 << 20
# Maximum size of a manifest in bytes, so that endless input does not fill the memory.
_LARGEST_MANIFEST = 256 << 20
# Manifest field with the SHA-256 of all other fields.
_SEAL = "sha256"


def open_regular(path: Path) -> BinaryIO:
    """Opens a regular file for reading.

    Raises:
        OSError: it cannot be read, or is a pipe, a device or a folder.
    """
    # Without O_NONBLOCK, opening a pipe waits for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(None, "it is not a regular file")
    return os.fdopen(descriptor, "rb", buffering=0)


def read_manifest_file(path: Path) -> Any:
    """Reads a JSON file.

    Raises:
        OSError: it cannot be read, or is not a regular file.
        ValueError: it is not JSON, is nested too deep, or is too large.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > _LARGEST_MANIFEST:
            raise ValueError("too large")
        return parse_json(file.readall())


def parse_json(text: str | bytes) -> Any:
    """Parses JSON. Raises a ValueError if it is not JSON, or is nested too deep."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def sealed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a manifest with their checksum added."""
    return {**fields, _SEAL: _checksum_of(fields)}


def unsealed(fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the fields of a manifest without the checksum; None if it does not match."""
    others = {name: value for name, value in fields.items() if name != _SEAL}
    return others if fields.get(_SEAL) == _checksum_of(others) else None


def _checksum_of(fields: Mapping[str, Any]) -> str:
    """Returns the SHA-256 of the fields, whatever the layout of the file."""
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def described(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Returns the size in bytes and the SHA-256 of files, by name."""
    return {name: description(folder / name) for name in names}


def description(path: Path) -> dict[str, Any]:
    """Returns the size in bytes and the SHA-256 of a file."""
    return {"bytes": path.stat().st_size, "sha256": checksum(path)}


def damage(
    folder: Path, files: Mapping[str, Mapping[str, Any]], *, verify_checksums: bool
) -> str | None:
    """Describes the first file that differs from what `described` returned; None if none does.

    Args:
        files: as read from a manifest, which may hold anything.
        verify_checksums: compare the checksums of large files too, not only their sizes.
    """
    if not _is_description(files):
        return "the list of files is damaged"
    for name, known in files.items():
        path = folder / name
        try:
            with open_regular(path) as file:
                size = os.fstat(file.fileno()).st_size
                is_altered = size != known["bytes"] or (
                    (verify_checksums or size <= _SMALL) and _digest(file) != known["sha256"]
                )
        except FileNotFoundError:
            return f"{name} is missing"
        except OSError as problem:
            return f"cannot read {name}: {problem.strerror}"
        if is_altered:
            return f"{name} was altered since it was written"
    return None


def checksum(path: Path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb", buffering=0) as file:
        return _digest(file)


def _digest(file: BinaryIO) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()


def _is_description(files: Any) -> bool:
    return isinstance(files, Mapping) and all(
        _is_below(name)
        and isinstance(known, Mapping)
        and type(known.get("bytes")) is int
        and isinstance(known.get("sha256"), str)
        for name, known in files.items()
    )


def _is_below(name: str) -> bool:
    """Returns whether a relative path stays inside its folder."""
    return not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts
