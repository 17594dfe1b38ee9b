"""Digests of unmess's own code, for caches that outlive a process."""

from __future__ import annotations

import hashlib
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]


def digest_of(*places: str) -> str:
    """Returns a digest of all our code and tables in some folders and files, such as `unmess/core`.

    Call this when the code is imported, so that the digest matches the imported code even if files
    change later.
    """
    digest = hashlib.sha256()
    for place in map(_ROOT.joinpath, places):
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if path.suffix in (".py", ".mlir", ".yaml"):
                digest.update(path.read_bytes())
    return digest.hexdigest()
