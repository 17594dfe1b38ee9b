"""How folders of the cache are kept below a size: what was not used for longest goes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

from unmess.core.error import Error

# Names of files that are being written, and after how many seconds nobody can be at it any more.
UNFINISHED, _ABANDONED = "unfinished-", 3600.0


def limit_of(variable: str, default_mb: int, zero: str) -> int:
    """How many bytes a folder may take, from an environment variable that says megabytes.

    Args:
        zero: what 0 does, for the hint.

    Raises:
        Error: stage `usage`, where the variable is not a number.
    """
    text = os.environ.get(variable) or str(default_mb)
    if not text.isdecimal():
        raise Error(
            "usage",
            f"{variable} is {text!r}, not a number of megabytes",
            hint=f"the default is {default_mb}; {zero}",
        )
    return int(text) << 20


def files_in(folder: Path) -> list[tuple[os.stat_result, Path]]:
    """The files of a folder, which need not exist; not those of folders in it."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in (entry for entry in entries if entry.is_file(follow_symlinks=False)):
            # Another process may remove it at the same time.
            with contextlib.suppress(FileNotFoundError):
                found.append((entry.stat(), Path(entry.path)))
    return found


def evict(folders: Iterable[Path], limit: int) -> int:
    """Removes the files that were not used for longest until the rest takes at most `limit` bytes.

    Files that a killed process has left unfinished go first. A process that has a file mapped keeps
    its pages.

    Returns:
        The number of bytes that were freed.

    Raises:
        OSError: a file cannot be removed.
    """
    files, freed = [], 0
    for status, path in (found for folder in folders for found in files_in(folder)):
        abandoned = time.time() - status.st_mtime > _ABANDONED
        if not path.name.startswith(UNFINISHED):
            files.append((status.st_mtime, status.st_size, path))
        elif abandoned:
            path.unlink(missing_ok=True)
            freed += status.st_size
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= limit:
            break
        path.unlink(missing_ok=True)
        total -= size
        freed += size
    return freed
