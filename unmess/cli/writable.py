"""Finds out that a result cannot be written before the work for it begins."""

from __future__ import annotations

import tempfile
from pathlib import Path

from unmess.core.error import Error


def check_writable(file: Path) -> None:
    """Raises an Error (`usage`) where `file` cannot be written. Leaves no trace."""
    try:
        if file.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        if file.is_file():
            file.open("ab").close()
        elif not file.exists():
            # Opening the file itself would leave an empty one behind when the model fails.
            tempfile.TemporaryFile(dir=file.parent).close()
    except OSError as problem:
        raise Error(
            "usage",
            f"cannot write {file}: {problem.strerror}",
            hint="choose a folder that exists and that you may write to",
        ) from problem
