"""The cache folder, and what is said where it is of no use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs


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
    """Makes a folder in the cache folder, and that where it is missing, for this user alone.

    Who can write there can make this user run anything. Folders that are there stay as they are.

    Raises:
        OSError: it cannot be made.
    """
    for each in (folder.parent, folder):
        # `parents` makes folders that everybody can read.
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
