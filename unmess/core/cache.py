"""The cache folder, and what is said where it is of no use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs

from unmess.core.private import check_private


def cache_folder() -> Path:
    """`UNMESS_CACHE`, or the platform's cache folder for unmess. It need not exist."""
    return Path(os.environ.get("UNMESS_CACHE") or platformdirs.user_cache_dir("unmess"))


def weights_folder() -> Path:
    """Where runners keep weights in the form that their code reads. It need not exist."""
    return cache_folder() / "weights"


def say(text: str) -> None:
    """A line on stderr, about the cache, for the user, who gets a result all the same."""
    print(f"unmess: {text}", file=sys.stderr, flush=True)


def make_private(folder: Path) -> None:
    """Makes a folder in the cache folder, and all that are missing above it, for this user alone.

    Raises:
        Error: stage `usage`; another user can change the folder.
        OSError: it cannot be made.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        # Not with `parents`, which makes folders with the permissions of the umask.
        each.mkdir(mode=0o700, exist_ok=True)
    check_private(folder)
