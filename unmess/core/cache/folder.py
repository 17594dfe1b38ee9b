"""The cache folder, and messages about problems with it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from unmess.core.files.private import check_private


def cache_folder() -> Path:
    """Returns `UNMESS_CACHE`, or the platform's cache folder for unmess. It need not exist."""
    if folder := os.environ.get("UNMESS_CACHE"):
        return Path(folder)
    # Imported here, because commands that use no cache need not spend the time.
    import platformdirs

    return Path(platformdirs.user_cache_dir("unmess"))


def weights_folder() -> Path:
    """Returns the folder for weights in the layout that compiled code reads. It need not exist."""
    return cache_folder() / "weights"


def say(text: str) -> None:
    """Prints a line to stderr about a cache problem that does not prevent a result."""
    print(f"unmess: {text}", file=sys.stderr, flush=True)


def make_private(folder: Path) -> None:
    """Creates a folder in the cache folder, and missing parents, for this user only.

    Raises:
        Error: stage `usage`; another user can change the folder.
        OSError: it cannot be created.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        # `parents=True` would give the parents the permissions of the umask.
        each.mkdir(mode=0o700, exist_ok=True)
    check_private(folder)
