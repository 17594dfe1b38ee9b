"""A file of rows that a sweep appends to, so that it can resume after an interruption."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from unmess.row import Row


def read_rows(file: Path) -> Iterator[Row]:
    """Yields the rows of a file in order, none without a file. Drops truncated lines."""
    if not file.exists():
        return
    for text in file.read_text().splitlines():
        try:
            yield Row(**json.loads(text))
        except json.JSONDecodeError:
            continue


@contextlib.contextmanager
def appending(file: Path) -> Iterator[TextIO]:
    """Opens a file of rows to append to it. Ends a truncated last line with a newline first."""
    with file.open("a+b") as log:
        if log.tell():
            log.seek(-1, 2)
            if log.read() != b"\n":
                log.write(b"\n")
    with file.open("a") as log:
        yield log


def write_row(log: TextIO, row: Row) -> None:
    """Appends a row and flushes it, so that a later crash does not lose it."""
    log.write(json.dumps(asdict(row)) + "\n")
    log.flush()
