"""What was compiled, kept in the cache folder by its content's key, up to a size.

Any number of processes read and write at once: a file appears whole or not at all, under a key that
says all that its content depends on. What is damaged is said, removed, and missing from then on.
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

from unmess.core.cache import cache_folder, make_private, say
from unmess.core.eviction import UNFINISHED, evict, files_in, limit_of
from unmess.core.private import open_private
from unmess.core.writing import replacing

SIZE = "UNMESS_CACHE_MB"
_DEFAULT_MB = 1024
_DIGEST = hashlib.sha256().digest_size
# A file begins with its digest, and a line that says what it is.
_MOST_ABOUT = 4096
_is_off: ContextVar[bool] = ContextVar("is_off", default=False)


@dataclass(frozen=True)
class Held:
    """A file of the cache.

    Attributes:
        key: what its content depends on, as a digest.
        runner: that it was compiled for.
        model: name of the model.
        bytes: its size.
        used: when it was last written or read, in seconds since 1970.
    """

    key: str
    runner: str
    model: str
    bytes: int
    used: float


def artifact_folder() -> Path:
    """The part of the cache folder that holds them. It need not exist."""
    return cache_folder() / "compiled"


def size_limit() -> int:
    """How many bytes they may take together, from the environment variable `UNMESS_CACHE_MB`.

    0 turns the cache off.

    Raises:
        Error: stage `usage`, where the variable is not a number.
    """
    if _is_off.get():
        return 0
    zero = "0 turns the cache of compiled programs off"
    return limit_of(SIZE, _DEFAULT_MB, zero)


@contextlib.contextmanager
def switched_off() -> Iterator[None]:
    """Inside, programs are compiled as if the cache were empty, and not kept."""
    token = _is_off.set(True)
    try:
        yield
    finally:
        _is_off.reset(token)


def read_artifact(key: str) -> bytes | None:
    """The content that `write_artifact` was given, or None.

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
        say(f"a compiled program in the cache is damaged, and compiled again: {path}")
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    # The time says which ones were not used for long. A folder of somebody else's stays as it is.
    with contextlib.suppress(OSError):
        os.utime(path)
    return rest[rest.index(b"\n") + 1 :]


def write_artifact(key: str, content: bytes, *, runner: str, model: str) -> bool:
    """Keeps `content`, and removes what was not used for longest where there is too much.

    A folder that cannot be written, or a full disk, costs the artifact, and a line on stderr.

    Args:
        runner, model: what it is, for whoever looks into the cache.

    Returns:
        Whether it is kept.
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
        evict([folder], limit)
    except OSError as problem:
        say(f"a compiled program is not kept in {folder}: {problem.strerror}")
        return False
    return True


def list_artifacts() -> list[Held]:
    """What is there, what was used last first."""
    held = []
    for status, path in files_in(artifact_folder()):
        if path.name.startswith(UNFINISHED):
            continue
        # Another process may remove it at the same time; one that is damaged, or of an older
        # version, says nothing of itself.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            with open_private(path) as file:
                file.seek(_DIGEST)
                about = json.loads(file.readline(_MOST_ABOUT))
            held.append(
                Held(path.name, about["runner"], about["model"], status.st_size, status.st_mtime)
            )
    return sorted(held, key=lambda one: -one.used)
