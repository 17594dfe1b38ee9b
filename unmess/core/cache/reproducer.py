"""Writes files that reproduce failures to the cache folder."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path

from unmess.core.cache.folder import cache_folder, make_private
from unmess.core.errors.error import Error


def write_reproducer(text: str, stem: str) -> str | None:
    """Writes MLIR text to a new file in the cache folder's `repro/` and returns its path.

    The first `THIS_FILE` in the text, in the command that runs the file, is replaced by that path.
    File names are unique, so that processes that fail at the same time keep their own files.
    Returns None if the cache folder cannot be written, or if other users can change it.
    """
    folder = cache_folder() / "repro"
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in stem)[:80]
    try:
        make_private(folder)
        handle, path = tempfile.mkstemp(prefix=f"{safe}-", suffix=".mlir", dir=folder)
    except (OSError, Error):
        return None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text.replace("THIS_FILE", shlex.quote(path), 1))
    except OSError:
        # An incomplete file does not reproduce the failure.
        Path(path).unlink(missing_ok=True)
        return None
    return path
