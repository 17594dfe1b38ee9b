"""Folders and files that no other user can change.

The cache holds native code. Whoever can write to it, or rename a folder above it, can run code as
the user who reads it. Each folder on the path is opened relative to its parent, without following
links. The checks apply to open descriptors, so nobody can replace a folder after its check. `root`
is trusted.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from unmess.core.errors.error import Error

_ROOT = 0
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def check_private(folder: Path) -> None:
    """Raises an Error (`usage`) if another user can change the contents of a folder.

    Raises:
        OSError: there is no such folder.
    """
    os.close(_opened(folder))


def open_private(path: Path) -> BinaryIO:
    """Opens a file for reading, after checking that no other user can change it.

    Raises:
        Error: stage `usage`; another user can change the file or a folder above it, or the file is
            a link or not a regular file.
        OSError: it cannot be read.
    """
    folder = _opened(path.parent)
    try:
        if stat.S_ISLNK(os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise _refusal(path, "is a link")
        # Without O_NONBLOCK, opening a pipe waits for a writer.
        descriptor = os.open(path.name, _OPEN | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _refusal(path, "is not a regular file")
        _check(path, status)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _opened(folder: Path) -> int:
    """Returns a descriptor of a folder, after checking it and all folders above it."""
    # Resolve links first, because the checks apply to the real path.
    place = Path(os.path.realpath(folder))
    descriptor = os.open(place.anchor, _OPEN | os.O_DIRECTORY)
    try:
        for index, name in enumerate(place.parts[1:], 2):
            inner = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
            last = index == len(place.parts)
            _check(Path(*place.parts[:index]), os.fstat(descriptor), sticky=not last)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check(path: Path, status: os.stat_result, sticky: bool = False) -> None:
    """Raises an Error if another user owns a file or folder, or may write to it.

    Args:
        sticky: accept folders such as `/tmp`, where nobody can rename files of other users.
    """
    if status.st_uid not in (_ROOT, os.geteuid()):
        raise _refusal(path, f"belongs to another user (uid {status.st_uid})")
    if status.st_mode & _OTHERS and not (sticky and status.st_mode & stat.S_ISVTX):
        raise _refusal(path, "can be written by other users", f"chmod go-w {path}, or ")


def _refusal(path: Path, problem: str, remedy: str = "") -> Error:
    return Error(
        "usage",
        f"the cache holds native code, but {path} {problem}",
        hint=f"{remedy}set UNMESS_CACHE to a folder of your own",
    )
