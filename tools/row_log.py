"""A file of rows that grows while a sweep runs, and that an interrupted one goes on with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from unmess.core.row import Row


def read_rows(file: Path) -> Iterator[Row]:
    """The rows of a file, in order; none where there is no file. A line cut off is dropped."""
    if not file.exists():
        return
    for text in file.read_text().splitlines():
        try:
            yield Row(**json.loads(text))
        except json.JSONDecodeError:
            continue


def write_row(log: TextIO, row: Row) -> None:
    """Appends a row, so that it is in the file whatever happens next."""
    log.write(json.dumps(asdict(row)) + "\n")
    log.flush()
