"""The cache folder, and the reproducers in it."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """`UNMESS_CACHE`, or the platform's cache folder for unmess. It need not exist."""
    return Path(os.environ.get("UNMESS_CACHE") or platformdirs.user_cache_dir("unmess"))


def weights_folder() -> Path:
    """Where runners keep weights in the form that their code reads. It need not exist."""
    return cache_folder() / "weights"


def make_private(folder: Path) -> None:
    """Makes a folder in the cache folder, and that where it is missing, for this user alone.

    Who can write there can make this user run anything. Folders that are there stay as they are.

    Raises:
        OSError: it cannot be made.
    """
    for each in (folder.parent, folder):
        # `parents` makes folders that everybody can read.
        each.mkdir(mode=0o700, parents=True, exist_ok=True)


def write_reproducer(text: str, stem: str) -> str | None:
    """Writes `text`, of MLIR, to a new file in the cache folder's `repro/` and returns its path.

    The first `THIS_FILE` in it, of the command that runs the file, becomes that path.
    The name is unique, so that processes that fail at the same time keep their own files. A cache
    folder that cannot be written costs the reproducer, not the error message: None then.
    """
    folder = cache_folder() / "repro"
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in stem)[:80]
    try:
        make_private(folder)
        handle, path = tempfile.mkstemp(prefix=f"{safe}-", suffix=".mlir", dir=folder)
        with os.fdopen(handle, "w") as file:
            file.write(text.replace("THIS_FILE", shlex.quote(path), 1))
    except OSError:
        return None
    return path
