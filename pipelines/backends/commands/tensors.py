"""Tensors in files, as commands read and write them.

A number is a tensor of rank 0. A bfloat16 tensor is one of uint16 with the same bits in `.npy`
files, which have no bfloat16.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch

from pipelines.backends.results import GARBAGE, to_array, to_tensor
from unmess.core.errors.error import Error, first_line
from unmess.core.signature.signature import Result, ScalarSpec

_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.bool),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8),
        *(torch.complex64, torch.complex128),
    )
}
_MAGIC = b"\x93NUMPY"
# Maximum number of file names that an error lists.
_LISTED = 5
_NUMBERS = {int: torch.int64, float: torch.float64, bool: torch.bool}
# Exceptions that libraries raise for malformed files.
_DAMAGED = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, RuntimeError, MemoryError),
    safetensors.SafetensorError,
)


def write_tensors(values: Sequence[Any] | Mapping[str, Any], path: Path, form: str) -> None:
    """Writes tensors and numbers, called 0, 1 and so on unless they have names.

    Args:
        path: for `npy` a folder, which is created; else a file. In the name of a file in that
            folder, `%2F` stands for a slash, and `%25` for a percent sign.
        form: `npy`, `bin` or `safetensors`.
    """
    named = values if isinstance(values, Mapping) else {str(i): v for i, v in enumerate(values)}
    tensors = {name: as_tensor(value) for name, value in named.items()}
    if form == "npy":
        path.mkdir(exist_ok=True)
        for name, tensor in tensors.items():
            # A name with a slash could lead out of the folder.
            file = name.replace("%", "%25").replace("/", "%2F")
            np.save(path / f"{file}.npy", to_array(tensor))
    elif form == "safetensors":
        safetensors.torch.save_file({name: t.clone() for name, t in tensors.items()}, path)
    else:
        _write_bin(tensors, path)


def read_tensors(results: Sequence[Result], path: Path, form: str) -> list[torch.Tensor]:
    """Returns the tensors that a command has written for the results of an entry function.

    Raises:
        Error: stage `run`; files are missing or damaged, or there are others than these.
    """
    try:
        if form == "npy":
            return _read_npy(results, path)
        if form == "safetensors":
            return _read_safetensors(path)
        return _read_bin(path)
    except FileNotFoundError as problem:
        name = Path(problem.filename or path).relative_to(path.parent)
        others = sorted(file.name for file in path.iterdir()) if path.is_dir() else []
        found = f", which has {', '.join(others[:_LISTED])}" if others else ""
        raise _garbage(f"the file {name} is missing in {{outputs}}{found}") from problem
    except _DAMAGED as problem:
        raise _garbage(f"{path.name} cannot be read: {first_line(problem)}") from problem


def as_tensor(value: Any) -> torch.Tensor:
    """Returns a tensor as it is, and a number as a tensor of rank 0."""
    if isinstance(value, torch.Tensor):
        return value.contiguous()
    return torch.tensor(value, dtype=_NUMBERS[type(value)])


def _write_bin(tensors: Mapping[str, torch.Tensor], path: Path) -> None:
    table, offset = [], 0
    with path.with_suffix(".bin").open("wb") as file:
        for name, tensor in tensors.items():
            content = tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
            table.append(
                {
                    "name": name,
                    "dtype": str(tensor.dtype).removeprefix("torch."),
                    "shape": list(tensor.shape),
                    "offset": offset,
                    "bytes": len(content),
                }
            )
            offset += file.write(content)
    path.write_text(json.dumps(table, indent=2))


def _read_npy(results: Sequence[Result], path: Path) -> list[torch.Tensor]:
    found = []
    for number, result in enumerate(results):
        file = path / f"{number}.npy"
        # NumPy would read another file as a pickle.
        with file.open("rb") as content:
            if content.read(len(_MAGIC)) != _MAGIC:
                raise ValueError(f"{file.name} is not a .npy file")
        array = np.load(file, allow_pickle=False)
        found.append(to_tensor(array, _dtype(result)))
    if (path / f"{len(results)}.npy").exists():
        raise _garbage(f"the file {path.name}/{len(results)}.npy is for no result of the program")
    return found


def _read_safetensors(path: Path) -> list[torch.Tensor]:
    found = safetensors.torch.load_file(path)
    names = [str(number) for number in range(len(found))]
    if found.keys() != set(names):
        raise ValueError(f"the tensors are called {', '.join(sorted(found))}")
    return [found[name] for name in names]


def _read_bin(path: Path) -> list[torch.Tensor]:
    table = json.loads(path.read_text())
    content = path.with_suffix(".bin").read_bytes()
    found = []
    for row in table:
        dtype, shape = _DTYPES[row["dtype"]], tuple(row["shape"])
        start, end = row["offset"], row["offset"] + row["bytes"]
        if not 0 <= start <= end <= len(content):
            raise ValueError(f"bytes {start} to {end} of {len(content)}")
        memory = torch.empty(0, dtype=torch.uint8)
        if start < end:
            memory = torch.frombuffer(bytearray(content[start:end]), dtype=torch.uint8)
        found.append(memory.view(dtype).reshape(shape))
    return found


def _dtype(result: Result) -> torch.dtype:
    spec = result.spec
    return _NUMBERS[spec.type] if isinstance(spec, ScalarSpec) else spec.dtype


def _garbage(problem: str) -> Error:
    return Error("run", f"{GARBAGE}{problem}", hint="docs/backends.md describes the files")
