"""A cache of compiled programs: files in the cache folder, by key, up to a total size.

Any number of processes can read and write at the same time: a file appears whole or not at all. The
key covers everything that the content depends on. Damaged files are reported and removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from unmess.core.cache.eviction import UNFINISHED, Item, items_in, limit_of, limit_size
from unmess.core.cache.folder import cache_folder, make_private, say
from unmess.core.files.private import open_private
from unmess.core.files.writing import replacing

SIZE = "UNMESS_CACHE_MB"
_DEFAULT_MB = 1024
_DIGEST = hashlib.sha256().digest_size
# A file is a digest, one line of JSON that describes the content, and the content. At most this
# many bytes of the line are read.
_MOST_ABOUT = 4096
_is_off: ContextVar[bool] = ContextVar("is_off", default=False)


@dataclass(frozen=True)
class CacheEntry:
    """A file of the cache.

    Attributes:
        key: digest of everything that the content depends on.
        runner: the runner that it was compiled for.
        model: name of the model.
        bytes: size of the file.
        used: when it was last written or read, in seconds since 1970.
    """

    key: str
    runner: str
    model: str
    bytes: int
    used: float


def artifact_folder() -> Path:
    """Returns the folder of compiled programs in the cache folder. It need not exist."""
    return cache_folder() / "compiled"


def size_limit() -> int:
    """Returns the maximum total size in bytes, from the environment variable `UNMESS_CACHE_MB`.

    0 turns the cache off.

    Raises:
        Error: stage `usage`; the variable is not a number.
    """
    if _is_off.get():
        return 0
    zero = "0 turns the cache of compiled programs off"
    return limit_of(SIZE, _DEFAULT_MB, zero)


@contextlib.contextmanager
def switched_off() -> Iterator[None]:
    """Turns the cache off inside the block: programs are compiled again and not stored."""
    token = _is_off.set(True)
    try:
        yield
    finally:
        _is_off.reset(token)


def read_artifact(key: str) -> bytes | None:
    """Returns the content that `write_artifact` stored under `key`, or None.

    Raises:
        Error: stage `usage`; another user can change the file.
    """
    path = artifact_folder() / key
    try:
        with open_private(path) as file:
            digest, rest = file.read(_DIGEST), file.read()
    except OSError:
        return None
    if hashlib.sha256(rest).digest() != digest:
        say(f"a compiled program in the cache was damaged and is compiled again: {path}")
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    # Eviction goes by this time. It cannot be set in a folder of another user.
    with contextlib.suppress(OSError):
        os.utime(path)
    return rest[rest.index(b"\n") + 1 :]


def write_artifact(key: str, content: bytes, *, runner: str, model: str) -> bool:
    """Stores `content`, and removes the least recently used files above the size limit.

    If the folder cannot be written, or the disk is full, the content is not stored, and a line on
    stderr says so.

    Args:
        runner, model: describe the content to users who list the cache.

    Returns:
        Whether the content was stored.
    """
    about = json.dumps({"runner": runner, "model": model[:200]}).encode() + b"\n"
    limit = size_limit()
    if _DIGEST + len(about) + len(content) > limit:
        return False
    folder = artifact_folder()
    try:
        make_private(folder)
        with replacing(folder / key, UNFINISHED, 0o600) as path, path.open("wb") as file:
            digest = hashlib.sha256(about)
            digest.update(content)
            file.write(digest.digest())
            file.write(about)
            file.write(content)
        limit_size(folder, limit, _DIGEST + len(about) + len(content))
    except OSError as problem:
        say(f"cannot store the compiled program in {folder}: {problem.strerror}")
        return False
    return True


def list_artifacts(most: int | None = None, items: list[Item] | None = None) -> list[CacheEntry]:
    """Returns the stored files, the most recently used first.

    Args:
        most: read the descriptions of this many files only.
        items: the listing of the folder; None lists it again.
    """
    held = []
    for item in sorted(items_in(artifact_folder()) if items is None else items, reverse=True):
        if len(held) == most:
            break
        path = Path(item.path)
        if item.is_folder or path.name.startswith(UNFINISHED):
            continue
        # Another process may remove the file at the same time. A damaged file, or one of an older
        # version, has no description.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            with open_private(path) as file:
                file.seek(_DIGEST)
                about = json.loads(file.readline(_MOST_ABOUT))
            held.append(
                CacheEntry(path.name, about["runner"], about["model"], item.size, item.used)
            )
    return held
