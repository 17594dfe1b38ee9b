"""Writes the tables as Parquet files, the same bytes each time, and reads them.

pyarrow is an optional dependency, the group `corpus` of pyproject.toml.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmess.core.errors.error import Error
from unmess.core.files.writing import Replacements, writing_to
from unmess.corpus.tables import TABLES, Columns

if TYPE_CHECKING:
    import pyarrow

# A file and a row group end when their texts and elements have more bytes than these limits.
_FILE, _GROUP = 256_000_000, 16_000_000


def check_pyarrow() -> None:
    """Raises an Error (`usage`) if pyarrow is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        raise Error(
            "usage",
            "pyarrow, which reads and writes Parquet files, is not installed",
            hint="run `pip install 'unmess[corpus]'`; the locked environment has it",
        )


def schema(columns: Columns) -> pyarrow.Schema:
    """Returns the Arrow schema of a table."""
    import pyarrow

    return pyarrow.schema([(name, _type(kind)) for name, kind, _ in columns])


def _type(kind: Any) -> pyarrow.DataType:
    import pyarrow

    if isinstance(kind, list):
        return pyarrow.list_(_type(kind[0]))
    if isinstance(kind, tuple):
        return pyarrow.struct([(name, _type(own)) for name, own, _ in kind])
    return pyarrow.type_for_alias(kind)


def write_tables(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> dict[str, list[Path]]:
    """Writes each table as one or more files. Removes files of an earlier run.

    Returns:
        The paths of the files of each table.

    Raises:
        Error: stage `usage`; a file cannot be written.
    """
    written: dict[str, list[Path]] = {}
    with writing_to(folder):
        with Replacements() as files:
            for table, columns in TABLES.items():
                shards = list(_pieces(rows[table], _FILE)) or [[]]
                written[table] = [
                    folder / f"{table}-{number:05}-of-{len(shards):05}.parquet"
                    for number in range(len(shards))
                ]
                for path, shard in zip(written[table], shards, strict=True):
                    _write(files.beside(path), columns, shard)
        kept = {path.name for paths in written.values() for path in paths}
        for table in TABLES:
            for path in folder.glob(f"{table}-*-of-*.parquet"):
                if path.name not in kept:
                    path.unlink()
    return written


def _write(path: Path, columns: Columns, rows: list[dict[str, Any]]) -> None:
    import pyarrow
    from pyarrow import parquet

    form = schema(columns)
    # Fixed options: the defaults may change with the version.
    with parquet.ParquetWriter(
        path, form, version="2.6", compression="zstd", compression_level=9, data_page_version="1.0"
    ) as writer:
        for group in _pieces(rows, _GROUP) if rows else [[]]:
            writer.write_table(pyarrow.Table.from_pylist(group, form))


def _pieces(rows: list[dict[str, Any]], limit: int) -> Iterator[list[dict[str, Any]]]:
    """Yields the rows in pieces of about `limit` bytes."""
    piece, size = [], 0
    for row in rows:
        piece.append(row)
        size += 200 + len(row.get("text") or "")
        size += sum(len(each["data"] or b"") for each in row.get("arguments", ()))
        if size > limit:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def read_table(folder: Path, table: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """Returns the rows of a table.

    Raises:
        Error: stage `usage`; the folder has no corpus, or a file cannot be read.
    """
    import pyarrow
    from pyarrow import parquet

    paths = sorted(folder.glob(f"{table}-*-of-*.parquet"))
    if not paths:
        raise Error(
            "usage",
            f"{folder} has no table of {table}",
            hint="`unmess corpus -o DIR` writes a corpus",
        )
    rows = []
    for path in paths:
        try:
            rows += parquet.read_table(path, columns=columns).to_pylist()
        except (OSError, pyarrow.ArrowException) as problem:
            raise Error(
                "usage",
                f"cannot read {path}: {str(problem).splitlines()[0]}",
                hint="write the corpus again",
            ) from problem
    return rows
