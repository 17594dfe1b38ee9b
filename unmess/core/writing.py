"""Writes files beside their place and renames them. A failure leaves earlier files as they were.

Every file that unmess writes in the place of an earlier one is written here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from unmess.core.error import Error

# Begins the names of unfinished files. A killed process leaves them behind.
UNFINISHED = ".unmess-"


class Replacements:
    """Files that belong together, which take the place of earlier ones when all are complete.

    A context manager. At the end of the block it renames all files. If the block raises, it
    removes them, and the earlier files stay.

    Args:
        prefix: begins the names of unfinished files.
        mode: permissions of new files, less the umask. A file that replaces another one has the
            permissions of that.
    """

    def __init__(self, prefix: str = UNFINISHED, mode: int = 0o666):
        self._prefix = prefix
        self._mode = mode
        self._pending: dict[Path, Path] = {}

    def beside(self, path: str | Path) -> Path:
        """Makes an empty file beside `path`, for the caller to write, and returns its path.

        Symbolic links are followed. A device or a pipe has no content to protect: its own path is
        returned.

        Raises:
            OSError: the file cannot be made, or `path` is a folder.
        """
        try:
            # A dangling link is followed, too.
            path = Path(os.path.realpath(path))
        except ValueError as problem:
            raise OSError(errno.EINVAL, str(problem)) from problem
        old = None
        with contextlib.suppress(FileNotFoundError):
            old = path.stat().st_mode
        if old is not None:
            if stat.S_ISDIR(old):
                raise IsADirectoryError(errno.EISDIR, "it is a folder")
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
    """The path to write one file to. See `Replacements`."""
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
    """Raises an Error (`usage`) if `path` cannot be written. Leaves no trace."""
    files = Replacements()
    try:
        files.beside(path)
    except OSError as problem:
        raise cannot_write(path, problem) from problem
    finally:
        files.discard()


def cannot_write(path: str | Path, problem: OSError) -> Error:
    """The Error (`usage`) for a file, or several, that the user asked for."""
    return Error(
        "usage",
        f"cannot write {path}: {problem.strerror or problem}",
        hint="choose a folder that exists, that you may write to, and with enough room",
    )
