"""What was compiled, kept in the cache folder by its content's key, up to a size.

Any number of processes read and write at once: a file appears whole or not at all, under a key that
says all that its content depends on. What is damaged is taken for missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from unmess.core.cache import cache_folder
from unmess.core.error import Error

SIZE = "UNMESS_CACHE_MB"
_DEFAULT_MB = 1024
_DIGEST = hashlib.sha256().digest_size


def artifact_folder() -> Path:
    """The part of the cache folder that holds them. It need not exist."""
    return cache_folder() / "compiled"


def size_limit() -> int:
    """How many bytes they may take together, from the environment variable `UNMESS_CACHE_MB`.

    0 turns the cache off.

    Raises:
        Error: stage `usage`, where the variable is not a number.
    """
    text = os.environ.get(SIZE) or str(_DEFAULT_MB)
    if not text.isdecimal():
        raise Error(
            "usage",
            f"{SIZE} is {text!r}, not a number of megabytes",
            hint=f"the default is {_DEFAULT_MB}; 0 turns the cache of compiled programs off",
        )
    return int(text) << 20


def read_artifact(key: str) -> bytes | None:
    """What `write_artifact` was given, or None."""
    path = artifact_folder() / key
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, content = content[:_DIGEST], content[_DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        return None
    # The time says which ones were not used for long. A folder of somebody else's stays as it is.
    with contextlib.suppress(OSError):
        os.utime(path)
    return content


def write_artifact(key: str, content: bytes) -> None:
    """Keeps `content`, and removes what was not used for longest where there is too much.

    A folder that cannot be written, or a full disk, costs the artifact, nothing else.
    """
    limit = size_limit()
    if len(content) + _DIGEST > limit:
        return
    folder = artifact_folder()
    with contextlib.suppress(OSError):
        # Who can write there can make this user run anything.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest())
                file.write(content)
            os.replace(path, folder / key)
        except BaseException:
            os.unlink(path)
            raise
        _evict(folder, limit)


def _evict(folder: Path, limit: int) -> None:
    """Removes the oldest files until the others fit; what a killed process left is among them."""
    files = []
    for entry in os.scandir(folder):
        # Another process may remove it at the same time.
        with contextlib.suppress(FileNotFoundError):
            status = entry.stat()
            files.append((status.st_mtime, status.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= limit:
            return
        Path(path).unlink(missing_ok=True)
        total -= size
