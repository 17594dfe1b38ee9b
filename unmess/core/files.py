"""Files that belong together: what is known of them, and whether they are still all right."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

# Files up to this size are always read for their checksum.
_SMALL = 16 << 20


def described(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Size in bytes and SHA-256 of files, by name."""
    return {
        name: {"bytes": (folder / name).stat().st_size, "sha256": checksum(folder / name)}
        for name in names
    }


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
            size = path.stat().st_size
            is_altered = size != known["bytes"] or (
                (whole or size <= _SMALL) and checksum(path) != known["sha256"]
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
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_description(files: Any) -> bool:
    return isinstance(files, Mapping) and all(
        isinstance(known, Mapping)
        and type(known.get("bytes")) is int
        and isinstance(known.get("sha256"), str)
        for known in files.values()
    )
