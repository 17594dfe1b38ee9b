"""The table beside an IR file: `FILE.json`.

It maps arguments of entry functions to tensors, and the model's own call to arguments. It also has
the versions that made the file. The tensors are in `FILE.safetensors`, by their names in the state
dict. An example call with eager's result is in `FILE.example.safetensors`.
"""

from __future__ import annotations

import importlib.metadata
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unmess.core.errors.error import Error
from unmess.core.files.reading import damage, read_manifest_file, sealed, unsealed

# Increase it when an older reader would misread the table.
FORMAT = 2
_PACKAGES = ("torch", "torch-mlir")
# The package that prints IR. Another version may not read it.
_DECIDES = "torch-mlir"


@dataclass(frozen=True)
class Table:
    """The metadata of an IR file.

    Attributes:
        format: `FORMAT`.
        name: name of the model.
        stage: stage of the IR.
        weights: `external`, `inline` or `splat`.
        made_by: versions by package.
        files: size and SHA-256 of the files beside the IR, by name.
        tied: further names of tensors, mapped to the name that they are stored by.
        notes: differences from the model that the user passed in, as (kind, text).
        entries: by entry function, its signature (`unmess.core.signature.serialized`), and
            `example`: the numbers among the inputs and results of the example call, by name.
            Tensors are in the example file. `example` is null if nothing was recorded.
    """

    format: int
    name: str
    stage: str
    weights: str
    made_by: dict[str, str]
    files: dict[str, dict[str, Any]]
    tied: dict[str, str]
    notes: list[list[str]]
    entries: dict[str, dict[str, Any]]


def table_file(ir_file: Path) -> Path:
    """Returns the path of an IR file's table."""
    return ir_file.with_name(f"{ir_file.name}.json")


def weights_file(ir_file: Path) -> Path:
    """Returns the path of an IR file's tensors."""
    return ir_file.with_name(f"{ir_file.name}.safetensors")


def example_file(ir_file: Path) -> Path:
    """Returns the path of an IR file's example call."""
    return ir_file.with_name(f"{ir_file.name}.example.safetensors")


def versions() -> dict[str, str]:
    """Returns the versions of the packages that decide how IR is written and read."""
    return {name: importlib.metadata.version(name) for name in _PACKAGES}


def write_table(path: Path, table: Table) -> None:
    """Writes the table of an IR file to a new file."""
    text = json.dumps(sealed(asdict(table)), indent=1, allow_nan=True)
    path.write_text(text + "\n", "utf-8")


def read_table(ir_file: Path) -> Table | None:
    """Reads an IR file's table, and checks its version and the files. Returns None without one.

    Raises:
        Error: stage `source`; the table is damaged or of another version, or a file is missing or
            altered.
    """
    path = table_file(ir_file)
    try:
        fields = read_manifest_file(path)
        found = fields["format"]
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise _unusable(f"cannot read {path}: {problem.strerror}") from problem
    except (ValueError, KeyError, TypeError):
        raise _unusable(f"{path} is damaged") from None
    if found != FORMAT:
        raise _unusable(
            f"{path} has format {found}, but this version of unmess reads format {FORMAT}"
        )
    fields = unsealed(fields)
    if fields is None:
        raise _unusable(f"{path} was altered since it was written")
    try:
        table = Table(**fields)
        made = table.made_by[_DECIDES]
    except (KeyError, TypeError):
        raise _unusable(f"{path} is damaged") from None
    here = versions()[_DECIDES]
    if made != here:
        raise _unusable(
            f"{ir_file} was written by {_DECIDES} {made}, but this environment has {here}"
        )
    if problem := damage(ir_file.parent, table.files, verify_checksums=True):
        raise _unusable(f"{ir_file}: {problem}")
    return table


def _unusable(cause: str) -> Error:
    return Error("source", cause, hint="export the model again with `unmess import MODEL -o FILE`")
