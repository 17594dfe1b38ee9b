"""Writes files under temporary names and renames them. A failure leaves earlier files unchanged.

All code of unmess that may replace a file writes it with this module.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from unmess.core.errors.error import Error

# Prefix of the names of unfinished files. A killed process leaves them behind.
UNFINISHED = ".unmess-"


class Replacements:
    """Files that belong together. They replace earlier files when all are complete.

    A context manager. At the end of the block it renames all files. If the block raises, it
    removes them, and the earlier files stay.

    Args:
        prefix: prefix of the names of unfinished files.
        mode: permissions of new files, less the umask. A file that replaces another one gets its
            permissions.
    """

    def __init__(self, prefix: str = UNFINISHED, mode: int = 0o666):
        self._prefix = prefix
        self._mode = mode
        self._pending: dict[Path, Path] = {}

    def beside(self, path: str | Path) -> Path:
        """Creates an empty file beside `path` for the caller to write, and returns its path.

        Follows symbolic links. A device or a pipe has no content to protect, so its own path is
        returned.

        Raises:
            OSError: the file cannot be created, or `path` is a folder.
        """
        try:
            # This follows dangling links, too.
            path = Path(os.path.realpath(path))
        except ValueError as problem:
            raise OSError(errno.EINVAL, str(problem)) from problem
        old = None
        with contextlib.suppress(FileNotFoundError):
            old = path.stat().st_mode
        if old is not None:
            if stat.S_ISDIR(old):
                raise IsADirectoryError(errno.EISDIR, "the path is a folder")
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            if not stat.S_ISREG(old):
                return path
        unfinished = path.with_name(f"{self._prefix}{secrets.token_hex(8)}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(unfinished, flags, self._mode)
        self._pending[unfinished] = path
        try:
            if old is not None:
                os.fchmod(descriptor, stat.S_IMODE(old))
        finally:
            os.close(descriptor)
        return unfinished

    def __enter__(self) -> Replacements:
        return self

    def __exit__(self, kind, *_) -> None:
        try:
            while kind is None and self._pending:
                unfinished, path = next(iter(self._pending.items()))
                os.replace(unfinished, path)
                del self._pending[unfinished]
        finally:
            self.discard()

    def discard(self) -> None:
        """Removes the unfinished files."""
        for unfinished in self._pending:
            unfinished.unlink(missing_ok=True)
        self._pending.clear()


@contextlib.contextmanager
def replacing(path: str | Path, prefix: str = UNFINISHED, mode: int = 0o666) -> Iterator[Path]:
    """Yields the path to write one file to. See `Replacements`."""
    with Replacements(prefix, mode) as files:
        yield files.beside(path)


def write_text(path: str | Path, text: str) -> None:
    """Writes a text file, in UTF-8, whole or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    with replacing(path) as unfinished:
        unfinished.write_text(text, "utf-8")


def check_writable(path: str | Path) -> None:
    """Raises an Error (`usage`) if `path` cannot be written. Leaves no file behind."""
    files = Replacements()
    try:
        with writing_to(path):
            files.beside(path)
    finally:
        files.discard()


@contextlib.contextmanager
def writing_to(path: str | Path) -> Iterator[None]:
    """Converts an OSError of the block to an Error.

    Raises:
        Error: stage `usage`, for output files that cannot be written.
    """
    try:
        yield
    except OSError as problem:
        raise Error(
            "usage",
            f"cannot write {path}: {problem.strerror or problem}",
            hint="choose an existing folder with write permission and enough free space",
        ) from problem
