"""A file of rows that grows while a sweep runs, and that an interrupted one goes on with."""

from __future__ import annotations

import contextlib
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


@contextlib.contextmanager
def appending(file: Path) -> Iterator[TextIO]:
    """Opens a file of rows to append to it. A line that a full disk has cut off stays by itself."""
    with file.open("a+b") as log:
        if log.tell():
            log.seek(-1, 2)
            if log.read() != b"\n":
                log.write(b"\n")
    with file.open("a") as log:
        yield log


def write_row(log: TextIO, row: Row) -> None:
    """Appends a row, so that it is in the file whatever happens next."""
    log.write(json.dumps(asdict(row)) + "\n")
    log.flush()
