"""Makes temporary folders that are removed even if their process is killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path


def temporary_folder() -> tempfile.TemporaryDirectory:
    """Returns a new temporary folder, which is removed when the object is deleted.

    Its name contains the process id. The parent process of workers calls
    `remove_temporary_folders` when a worker ends.
    """
    return tempfile.TemporaryDirectory(prefix=_prefix(os.getpid()))


def remove_temporary_folders(pid: int) -> None:
    """Removes the folders that a process made with `temporary_folder`.

    Args:
        pid: the id of a process that has ended and is not reaped yet, so that no other process can
            have the same id.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix(pid)}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _prefix(pid: int) -> str:
    return f"unmess-{pid}-"
