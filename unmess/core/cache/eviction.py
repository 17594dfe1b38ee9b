"""Limits the size of cache folders: removes the least recently used files first."""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from unmess.core.errors.error import Error

# Prefix of files that are being written, and the age in seconds at which they count as abandoned.
UNFINISHED, _ABANDONED = "unfinished-", 3600.0


def limit_of(variable: str, default_mb: int, zero: str) -> int:
    """Returns a folder's size limit in bytes, from an environment variable in megabytes.

    Args:
        zero: what 0 does, for the hint.

    Raises:
        Error: stage `usage`; the variable is not a number.
    """
    text = os.environ.get(variable) or str(default_mb)
    if not text.isdecimal():
        raise Error(
            "usage",
            f"{variable} is {text!r}, not a number of megabytes",
            hint=f"set a number; the default is {default_mb}, and {zero}",
        )
    return int(text) << 20


def files_in(folder: Path) -> list[tuple[os.stat_result, Path]]:
    """Returns the files directly in a folder, with their status. The folder need not exist."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in (entry for entry in entries if entry.is_file(follow_symlinks=False)):
            # Another process may remove it at the same time.
            with contextlib.suppress(FileNotFoundError):
                found.append((entry.stat(), Path(entry.path)))
    return found


def entries_in(folder: Path) -> list[tuple[float, int, Path]]:
    """Returns the time of last use, the size in bytes and the path of each subfolder."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as folders:
        for path in (Path(each.path) for each in folders if each.is_dir(follow_symlinks=False)):
            # Another process may remove it at the same time.
            with contextlib.suppress(OSError):
                files = [each.stat() for each in path.rglob("*") if each.is_file()]
                used = max((each.st_mtime for each in files), default=path.stat().st_mtime)
                found.append((used, sum(each.st_size for each in files), path))
    return found


class Evicted(NamedTuple):
    """Sizes in bytes: of the removed files, and of those that are left."""

    freed: int
    left: int


def evict(folders: Iterable[Path], limit: int, entries: Iterable[Path] = ()) -> Evicted:
    """Removes the least recently used files until the rest takes at most `limit` bytes.

    Also removes the unfinished files of killed processes. A process that has mapped a removed file
    keeps its pages.

    Args:
        folders: folders of files.
        entries: folders whose subfolders are each removed as a whole.

    Raises:
        OSError: a file cannot be removed.
    """
    there = [
        (status.st_mtime, status.st_size, path)
        for folder in folders
        for status, path in files_in(folder)
    ]
    there += [entry for folder in entries for entry in entries_in(folder)]
    finished, freed = [], 0
    for used, size, path in there:
        if not path.name.startswith(UNFINISHED):
            finished.append((used, size, path))
        elif time.time() - used > _ABANDONED:
            _remove(path)
            freed += size
    total = sum(size for _, size, _ in finished)
    for _, size, path in sorted(finished):
        if total <= limit:
            break
        _remove(path)
        total -= size
        freed += size
    return Evicted(freed, total)


def limit_size(folder: Path, limit: int, written: int) -> None:
    """Keeps the size of a folder below a limit, after a file was written.

    Listing thousands of files takes longer than writing one. So only some writes, chosen at random,
    list the folder and remove the least recently used files: on average one for each 256th of the
    limit that is written. They leave a sixteenth of the limit free. It is full before the next
    listing with a probability of 1e-7.

    Args:
        folder: a folder of files.
        limit: its maximum size in bytes.
        written: the size of the written file in bytes.

    Raises:
        OSError: a file cannot be removed.
    """
    if random.random() * limit < 256 * written:
        evict([folder], max(limit - limit // 16, written))


def _remove(path: Path) -> None:
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    # Rename it first, so that no process sees a partly removed folder.
    aside = path.with_name(f"{UNFINISHED}{secrets.token_hex(8)}")
    with contextlib.suppress(FileNotFoundError):
        os.rename(path, aside)
    shutil.rmtree(aside, ignore_errors=True)
