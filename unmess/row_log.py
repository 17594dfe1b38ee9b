"""A file of results that a long run appends to, so that it can resume after an interruption."""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO, TypeVar

from unmess.core.errors.error import Error
from unmess.row import Row

_Kind = TypeVar("_Kind")


def read_rows(file: Path, kind: type[_Kind] = Row) -> Iterator[_Kind]:
    """Yields the rows of a file in order, none without a file. Drops truncated lines.

    Args:
        kind: the dataclass of the rows.

    Raises:
        Error: stage `usage`; the file cannot be read, or has other content.
    """
    if not file.exists():
        return
    try:
        for text in file.read_text("utf-8").split("\n"):
            with contextlib.suppress(json.JSONDecodeError):
                yield kind(**json.loads(text))
    except (OSError, UnicodeDecodeError, TypeError) as problem:
        raise Error(
            "usage", f"cannot read results from {file}: {problem}", hint="name another file"
        ) from problem


@contextlib.contextmanager
def appending(file: Path) -> Iterator[TextIO]:
    """Opens a file of rows to append to it. Ends a truncated last line with a newline first.

    Raises:
        Error: stage `usage`; another process has the file open here.
    """
    with file.open("a+", encoding="utf-8") as log:
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise Error(
                "usage",
                f"another run writes to {file}",
                hint="choose another file or folder, or wait for the other run to end",
            ) from problem
        if log.tell() and not _ends_with_newline(file):
            log.write("\n")
        yield log


def _ends_with_newline(file: Path) -> bool:
    with file.open("rb") as content:
        content.seek(-1, 2)
        return content.read() == b"\n"


def write_row(log: TextIO, row: Any) -> None:
    """Appends a row, a dataclass, and flushes it, so that a later crash does not lose it."""
    log.write(json.dumps(asdict(row)) + "\n")
    log.flush()
