"""Entries of captured programs in the cache folder: finds, publishes and removes them."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmess.core.cache.eviction import UNFINISHED, Item, items_in, limit_of, limit_size, remove
from unmess.core.cache.folder import cache_folder, make_private, say
from unmess.core.files.private import open_private
from unmess.core.files.reading import damage
from unmess.program_cache.dependencies import first_change
from unmess.program_cache.request import Request

SIZE = "UNMESS_PROGRAMS_MB"
_DEFAULT_MB = 8192
ABOUT, IR, WEIGHTS, EXAMPLE = (
    "program.json",
    "program.mlirbc",
    "weights.safetensors",
    "example.safetensors",
)
_SEAL = "sha256"
# How often to try while other processes write the same entry. All of them write the same content.
_ATTEMPTS = 10


@dataclass(frozen=True)
class Entry:
    """A captured program on disk.

    Attributes:
        folder: the entry's folder.
        about: the content of `program.json`.
    """

    folder: Path
    about: Mapping[str, Any]


@dataclass(frozen=True)
class Missing:
    """The reason why there is no entry for a request."""

    reason: str


def programs_folder() -> Path:
    """Returns the folder of captured programs in the cache folder. It need not exist."""
    return cache_folder() / "programs"


def programs_limit() -> int:
    """Returns how many bytes captured programs may take together, from `UNMESS_PROGRAMS_MB`.

    0 turns the cache off.

    Raises:
        Error: stage `usage`; the variable is not a number.
    """
    return limit_of(SIZE, _DEFAULT_MB, "0 turns the cache of captured programs off")


def find(request: Request) -> Entry | Missing:
    """Returns the entry for a request if its dependencies are unchanged, or why there is none.

    Imports neither PyTorch nor MLIR.

    Raises:
        Error: stage `usage`; another user can change the entry.
    """
    if not programs_limit():
        return Missing("the cache is off")
    folder = programs_folder() / request.key()
    for _ in range(_ATTEMPTS):
        text = _read(folder)
        if text is None:
            return Missing("there is no entry for it, or the environment has changed")
        about = _unsealed(text)
        change = about and first_change(about["dependencies"])
        problem = None
        if about is None:
            problem = f"{ABOUT} was altered since it was written"
        elif change is None:
            problem = damage(folder, about["files"], verify_checksums=False)
        # Another process may have replaced the entry since its first file was read.
        if problem is None or _read(folder) == text:
            break
    else:
        return Missing("another process is writing it")
    if problem is not None:
        say(
            f"a captured program in the cache was damaged and is captured again: {folder}: "
            f"{problem}"
        )
        with contextlib.suppress(OSError):
            remove(folder)
        return Missing(f"{folder} was damaged")
    if change is not None:
        return Missing(f"{change} has changed")
    # Eviction removes the entries with the oldest times first.
    with contextlib.suppress(OSError):
        os.utime(folder / ABOUT)
    return Entry(folder, about)


def entry_in(folder: Path) -> Entry | None:
    """Returns the entry in a folder without a check of its dependencies; None if there is none."""
    text = _read(folder)
    about = None if text is None else _unsealed(text)
    return None if about is None else Entry(folder, about)


def _read(folder: Path) -> bytes | None:
    # The folder may hold native code (bundles): refuse files that other users can change.
    try:
        with open_private(folder / ABOUT) as file:
            return file.read()
    except OSError:
        return None


@contextlib.contextmanager
def unfinished(folder: Path) -> Iterator[Path]:
    """Makes a temporary folder to write to, and removes it at the end unless it has been moved.

    Args:
        folder: the parent folder.

    Raises:
        OSError: it cannot be made.
    """
    make_private(folder)
    scratch = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def publish(scratch: Path, place: Path) -> None:
    """Moves a finished folder to its place, and replaces an older one there.

    Processes that have files of the older one open can still read them. If several processes
    publish at once, the folder of one of them stays.

    Raises:
        OSError: it cannot be moved.
    """
    for _ in range(_ATTEMPTS):
        if place.exists():
            with contextlib.suppress(OSError):
                remove(place)
        try:
            os.rename(scratch, place)
            return
        except OSError as problem:
            # Another process was faster.
            if problem.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Writes `program.json`, with a digest of its content. A folder without it is no entry."""
    text = json.dumps(about, sort_keys=True)
    seal = hashlib.sha256(text.encode()).hexdigest()
    # Unsorted: the order of the entry points is that of the program.
    (folder / ABOUT).write_text(json.dumps({**about, _SEAL: seal}))


@dataclass(frozen=True)
class HeldEntry:
    """An entry as `unmess cache ls` shows it; `used` is in seconds since 1970."""

    key: str
    model: str
    bytes: int
    used: float


def entries(most: int | None = None, items: list[Item] | None = None) -> list[HeldEntry]:
    """Returns the entries, the most recently used first.

    Args:
        most: return this many only.
        items: the listing of the folder; None lists it again.
    """
    found = []
    for item in sorted(items_in(programs_folder()) if items is None else items, reverse=True):
        if len(found) == most:
            break
        folder = Path(item.path)
        if item.is_folder and (held := entry_in(folder)) is not None:
            found.append(HeldEntry(folder.name, held.about["model"], item.size, item.used))
    return found


def make_room(written: int) -> None:
    """Removes the least recently used entries above the limit, after `written` bytes were stored.

    Lists the entries for some writes only: see `limit_size`.

    Raises:
        OSError: one cannot be removed.
    """
    limit_size(programs_folder(), programs_limit(), written, of_folders=True)


def _unsealed(text: bytes) -> dict[str, Any] | None:
    """Returns the content of `program.json`; None if it is damaged."""
    try:
        about = json.loads(text)
        seal = about.pop(_SEAL)
        again = json.dumps(about, sort_keys=True)
    except (ValueError, KeyError, AttributeError):
        return None
    return about if hashlib.sha256(again.encode()).hexdigest() == seal else None
