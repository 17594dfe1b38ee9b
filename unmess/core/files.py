"""Files that belong together: what is known of them, and whether they are still all right."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

# Files up to this size are always read for their checksum.
_SMALL = 16 << 20
# No manifest is larger. A device without an end would fill the memory.
_LARGEST_MANIFEST = 256 << 20
# Field of a manifest: SHA-256 of all its other fields.
_SEAL = "sha256"


def open_regular(path: Path) -> BinaryIO:
    """Opens a file to read it.

    Raises:
        OSError: it cannot be read, or is a pipe, a device or a folder.
    """
    # A pipe without a writer would keep the process waiting.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(None, "it is not a regular file")
    return os.fdopen(descriptor, "rb", buffering=0)


def read_manifest_file(path: Path) -> Any:
    """What a JSON file holds.

    Raises:
        OSError: it cannot be read, or is no regular file.
        ValueError: it is not JSON, nests too deep, or is too large.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > _LARGEST_MANIFEST:
            raise ValueError("too large")
        return parse_json(file.readall())


def parse_json(text: str | bytes) -> Any:
    """A value from JSON. Raises a ValueError where it is not JSON, or nests too deep."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def sealed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a manifest, with a checksum of them."""
    return {**fields, _SEAL: _checksum_of(fields)}


def unsealed(fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of a manifest without their checksum; None where it is another one."""
    others = {name: value for name, value in fields.items() if name != _SEAL}
    return others if fields.get(_SEAL) == _checksum_of(others) else None


def _checksum_of(fields: Mapping[str, Any]) -> str:
    """Of what the fields say, however the file is laid out."""
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def described(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Size in bytes and SHA-256 of files, by name."""
    return {name: description(folder / name) for name in names}


def description(path: Path) -> dict[str, Any]:
    """Size in bytes and SHA-256 of a file."""
    return {"bytes": path.stat().st_size, "sha256": checksum(path)}


def damage(folder: Path, files: Mapping[str, Mapping[str, Any]], *, whole: bool) -> str | None:
    """What is wrong with the first file that is not as `described` has found it; None for nothing.

    Args:
        files: as read from a file, which may hold anything.
        whole: read large files too, not only see that they have the right size.
    """
    if not _is_description(files):
        return "the list of its files is damaged"
    for name, known in files.items():
        path = folder / name
        try:
            with open_regular(path) as file:
                size = os.fstat(file.fileno()).st_size
                is_altered = size != known["bytes"] or (
                    (whole or size <= _SMALL) and _digest(file) != known["sha256"]
                )
        except FileNotFoundError:
            return f"{name} is missing"
        except OSError as problem:
            return f"{name} cannot be read: {problem.strerror}"
        if is_altered:
            return f"{name} was altered since it was written"
    return None


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
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
    """Whether a path stays in the folder that it is relative to."""
    return not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts
