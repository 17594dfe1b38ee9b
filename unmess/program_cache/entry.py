"""A captured program in the cache folder, and what it is found by."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmess.core.cache import cache_folder, make_private, say
from unmess.core.eviction import UNFINISHED, entries_in, evict, limit_of
from unmess.core.files import damage
from unmess.core.private import open_private
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
# Processes that write the same entry at once give up after so many; all of them write the same.
_ATTEMPTS = 10


@dataclass(frozen=True)
class Entry:
    """A captured program on disk.

    Attributes:
        folder: that it is in.
        about: the content of `program.json`.
    """

    folder: Path
    about: Mapping[str, Any]

    @property
    def age(self) -> float:
        """Seconds since the capture."""
        return time.time() - self.about["made"]


@dataclass(frozen=True)
class Missing:
    """Why there is no entry for a request."""

    reason: str


def programs_folder() -> Path:
    """The part of the cache folder that holds captured programs. It need not exist."""
    return cache_folder() / "programs"


def programs_limit() -> int:
    """How many bytes captured programs may take together, from `UNMESS_PROGRAMS_MB`.

    0 turns the cache off.

    Raises:
        Error: stage `usage`; the variable is not a number.
    """
    return limit_of(SIZE, _DEFAULT_MB, "0 turns the cache of captured programs off")


def find(request: Request) -> Entry | Missing:
    """The entry for a request whose dependencies are as they were, or why there is none.

    It imports neither PyTorch nor MLIR.

    Raises:
        Error: stage `usage`; another user can change the entry.
    """
    if not programs_limit():
        return Missing("the cache is off")
    folder = programs_folder() / request.key()
    for _ in range(_ATTEMPTS):
        text = _read(folder)
        if text is None:
            return Missing("it is new, or the environment has changed")
        about = _unsealed(text)
        change = about and first_change(about["dependencies"])
        problem = None
        if about is None:
            problem = f"{ABOUT} was altered since it was written"
        elif change is None:
            problem = damage(folder, about["files"], whole=False)
        # Another process may have replaced the entry since its first file was read.
        if problem is None or _read(folder) == text:
            break
    else:
        return Missing("other processes write it")
    if problem is not None:
        say(f"a captured program in the cache is damaged, and captured again: {folder}: {problem}")
        remove(folder)
        return Missing(f"{folder} was damaged")
    if change is not None:
        return Missing(f"{change} has changed")
    # The time says which entries were not used for long.
    with contextlib.suppress(OSError):
        os.utime(folder / ABOUT)
    return Entry(folder, about)


def entry_in(folder: Path) -> Entry | None:
    """The entry in a folder, whatever has become of its dependencies; None where there is none."""
    text = _read(folder)
    about = None if text is None else _unsealed(text)
    return None if about is None else Entry(folder, about)


def _read(folder: Path) -> bytes | None:
    # Bundles in the folder are native code.
    try:
        with open_private(folder / ABOUT) as file:
            return file.read()
    except OSError:
        return None


@contextlib.contextmanager
def unfinished(folder: Path) -> Iterator[Path]:
    """A folder to write to, which is removed at the end unless it has been moved.

    Args:
        folder: that it is made in.

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
    """Moves a finished folder to its place, where an older one may be.

    A process that has files of the older one open goes on with them. Of several processes that
    publish at once, the folder of one stays.

    Raises:
        OSError: it cannot be moved.
    """
    for _ in range(_ATTEMPTS):
        if place.exists():
            remove(place)
        try:
            os.rename(scratch, place)
            return
        except OSError as problem:
            # Another process was faster.
            if problem.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Writes `program.json`, with a digest of its own. It is what makes a folder an entry."""
    text = json.dumps(about, sort_keys=True)
    seal = hashlib.sha256(text.encode()).hexdigest()
    (folder / ABOUT).write_text(json.dumps({**about, _SEAL: seal}, sort_keys=True))


@dataclass(frozen=True)
class HeldEntry:
    """An entry, for whoever looks into the cache; `used` is in seconds since 1970."""

    key: str
    model: str
    bytes: int
    used: float


def entries() -> list[HeldEntry]:
    """The entries that are there, the one that was used last first."""
    found = []
    for used, size, folder in entries_in(programs_folder()):
        if (held := entry_in(folder)) is not None:
            found.append(HeldEntry(folder.name, held.about["model"], size, used))
    return sorted(found, key=lambda one: -one.used)


def make_room(size: int) -> None:
    """Removes entries that were not used for longest, so that `size` bytes more have room.

    Raises:
        OSError: one cannot be removed.
    """
    evict([], max(programs_limit() - size, 0), entries=[programs_folder()])


def remove(folder: Path) -> None:
    """Removes an entry at once, so that no process finds a part of it."""
    with contextlib.suppress(OSError):
        aside = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder.parent))
        with contextlib.suppress(FileNotFoundError):
            os.rename(folder, aside / "entry")
        shutil.rmtree(aside, ignore_errors=True)


def _unsealed(text: bytes) -> dict[str, Any] | None:
    """The content of `program.json`; None where it is damaged."""
    try:
        about = json.loads(text)
        seal = about.pop(_SEAL)
        again = json.dumps(about, sort_keys=True)
    except (ValueError, KeyError, AttributeError):
        return None
    return about if hashlib.sha256(again.encode()).hexdigest() == seal else None
