"""Files of the search, with a line of JSON for each recipe and each measurement."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from unmess.core.cache.folder import cache_folder, make_private


class Lines:
    """A file of JSON lines in the cache folder, to which lines are added.

    Args:
        name: of the file.
    """

    def __init__(self, name: str):
        self.path: Path = cache_folder() / "benchmarks" / "cliffs" / name
        make_private(self.path.parent)

    def read(self) -> list[dict[str, Any]]:
        """Returns the lines, without one that an interrupted run left unfinished."""
        lines = []
        with contextlib.suppress(FileNotFoundError), self.path.open() as file:
            for line in file:
                with contextlib.suppress(json.JSONDecodeError):
                    lines.append(json.loads(line))
        return lines

    def add(self, line: dict[str, Any]) -> None:
        """Adds a line. The file is complete after each one."""
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
