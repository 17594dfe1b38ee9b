"""What unmess itself is at the moment, for what is kept between runs."""

from __future__ import annotations

import hashlib
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def digest_of(*folders: str) -> str:
    """A digest of all of our code in some folders, such as `unmess/core`.

    To be asked for when the code is imported: what it does then is what the digest says, where
    files are changed meanwhile.
    """
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted((_ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".mlir"):
                digest.update(path.read_bytes())
    return digest.hexdigest()
