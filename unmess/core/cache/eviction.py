"""Limits the size of cache folders: removes the least recently used files first."""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
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


class Item(NamedTuple):
    """A file or a folder in a cache folder.

    Attributes:
        used: time of last use, in seconds since 1970.
        size: size in bytes; for a folder, of all files in it.
        files: number of files.
        is_folder: whether it is a folder.
        path: a string, because a cache folder holds thousands of files.
    """

    used: float
    size: int
    files: int
    is_folder: bool
    path: str


def items_in(folder: Path) -> list[Item]:
    """Lists the files and the subfolders in a folder, but no links. The folder need not exist."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            # Another process may remove it at the same time.
            try:
                status = entry.stat(follow_symlinks=False)
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                continue
            if is_folder:
                files = list(_statuses(entry.path))
                used = max((each.st_mtime for each in files), default=status.st_mtime)
                size = sum(each.st_size for each in files)
                found.append(Item(used, size, len(files), True, entry.path))
            elif entry.is_file(follow_symlinks=False):
                found.append(Item(status.st_mtime, status.st_size, 1, False, entry.path))
    return found


def _statuses(folder: str) -> Iterator[os.stat_result]:
    """Yields the status of each file in a folder and in its subfolders."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    yield from _statuses(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry.stat(follow_symlinks=False)


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
    there = [item for folder in folders for item in items_in(folder) if not item.is_folder]
    there += [item for folder in entries for item in items_in(folder) if item.is_folder]
    finished, freed = [], 0
    for item in there:
        if not os.path.basename(item.path).startswith(UNFINISHED):
            finished.append(item)
        elif time.time() - item.used > _ABANDONED:
            remove(Path(item.path))
            freed += item.size
    total = sum(item.size for item in finished)
    for item in sorted(finished):
        if total <= limit:
            break
        remove(Path(item.path))
        total -= item.size
        freed += item.size
    return Evicted(freed, total)


def limit_size(folder: Path, limit: int, written: int, *, of_folders: bool = False) -> None:
    """Keeps the size of a folder below a limit, after something was written to it.

    Listing thousands of files takes longer than writing one. So only some writes, chosen at random,
    list the folder and remove the least recently used files: on average one for each 256th of the
    limit that is written. They leave a sixteenth of the limit free. The probability that
    this part is full before the next listing is 1e-7.

    Args:
        folder: a folder of files.
        limit: its maximum size in bytes.
        written: the number of bytes written.
        of_folders: whether it is a folder of subfolders, which are each removed as a whole.

    Raises:
        OSError: a file cannot be removed.
    """
    if random.random() * limit < 256 * written:
        most = max(limit - limit // 16, written)
        if of_folders:
            evict([], most, [folder])
        else:
            evict([folder], most)


def remove(path: Path) -> None:
    """Removes a file or a folder. No other process sees a partly removed folder.

    Raises:
        OSError: it cannot be removed or renamed.
    """
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    aside = path.with_name(f"{UNFINISHED}{secrets.token_hex(8)}")
    with contextlib.suppress(FileNotFoundError):
        os.rename(path, aside)
    shutil.rmtree(aside, ignore_errors=True)
