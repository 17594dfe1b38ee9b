"""The folder of a matrix: files of rows, and reproducers.

Each run appends to one file, `rows.jsonl`, or a file of its own for each shard. The rows of a
folder are those of all its files, so the files of several machines can be copied to one folder.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from unmess.core.errors.error import Error
from unmess.core.files.writing import write_text, writing_to
from unmess.matrix.cells import Cell, Shard, cell_of
from unmess.row import Row
from unmess.row_log import appending, read_rows, write_row

REPRODUCERS = "reproducers"
_ROWS = "rows*.jsonl"
# Larger reproducers, in bytes, stay where they are.
_LARGEST = 10_000_000
# The libraries whose results are not mixed in one folder.
_LIBRARIES = (
    *("torch", "torchvision", "transformers", "torch-mlir"),
    *("iree-base-compiler", "iree-base-runtime"),
)

Results = dict[Cell, Row]


def read_matrix(path: Path) -> Results:
    """Returns the latest row of each cell, from a folder or from one file of rows.

    Raises:
        Error: stage `usage`; there are no rows.
    """
    results = _read(path.glob(_ROWS) if path.is_dir() else [path])
    if not results:
        raise Error(
            "usage",
            f"{path} has no results of a matrix",
            hint="`unmess matrix -o DIR` writes a folder with results",
        )
    return results


def _read(files: Iterable[Path]) -> Results:
    rows = [row for file in files for row in read_rows(file)]
    rows.sort(key=lambda row: row.finished or "")
    return {cell_of(row): row for row in rows}


class MatrixFolder:
    """A folder that a run adds rows to.

    Attributes:
        path: the folder.
        results: the latest row of each cell, of all files.
    """

    def __init__(self, path: Path, log: TextIO, results: Results):
        """Use `opened`."""
        self.path = path
        self.results = results
        self._log = log

    def add(self, row: Row) -> Row:
        """Appends a row to the file, and returns it.

        Copies its reproducer to the folder; `repro` is then relative to the folder.
        """
        if row.repro is not None:
            row.repro = self._kept(Path(row.repro))
        self.results[cell_of(row)] = row
        with writing_to(self.path):
            write_row(self._log, row)
        return row

    def _kept(self, file: Path) -> str:
        """Returns the path of a copy of a reproducer, or its own path if it cannot be copied."""
        try:
            if file.stat().st_size > _LARGEST:
                return str(file)
            text = file.read_text("utf-8")
            # The text has the command that runs the file, with its path.
            digest = hashlib.sha256(text.replace(str(file), "").encode()).hexdigest()[:12]
            name = f"{digest}{file.suffix}"
            text = text.replace(str(file), name)
            (self.path / REPRODUCERS).mkdir(exist_ok=True)
            write_text(self.path / REPRODUCERS / name, text)
        except (OSError, UnicodeDecodeError):
            return str(file)
        return f"{REPRODUCERS}/{name}"


@contextlib.contextmanager
def opened(path: Path, shard: Shard, versions: dict[str, str]) -> Iterator[MatrixFolder]:
    """Opens or creates the folder, and the file that the rows of a shard go to.

    Args:
        versions: of the libraries that run now.

    Raises:
        Error: stage `usage`; the folder has results of other versions, another run writes to the
            same file, or the folder cannot be written.
    """
    file = path / ("rows.jsonl" if shard.count == 1 else f"rows-{shard}.jsonl")
    with contextlib.ExitStack() as stack:
        with writing_to(path):
            path.mkdir(parents=True, exist_ok=True)
            log = stack.enter_context(appending(file))
        results = _read(path.glob(_ROWS))
        _check_versions(path, results, versions)
        yield MatrixFolder(path, log, results)


def _check_versions(path: Path, results: Results, versions: dict[str, str]) -> None:
    for row in results.values():
        changed = [
            f"{name} {row.versions[name]}"
            for name in _LIBRARIES
            if name in row.versions and row.versions[name] != versions.get(name)
        ]
        if changed:
            raise Error(
                "usage",
                f"{path} has results of other versions: {', '.join(changed)}",
                hint="choose another folder with -o; `unmess matrix diff OLD NEW` compares both",
            )
