"""Reads and writes named tensors in safetensors files. Reading maps the file."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from unmess.core.errors.error import Error
from unmess.core.files.reading import open_regular, parse_json
from unmess.core.program.weights import row_major

# Metadata key for the names of the complex tensors.
_COMPLEX = "unmess.complex"


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes tensors. Complex ones become pairs of real numbers.

    Args:
        path: a new file. An existing one may be mapped by the tensors to be written.

    Raises:
        OSError: the file cannot be written.
    """
    memories: set[int] = set()
    dense: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        plain = row_major(tensor)
        plain = torch.view_as_real(plain) if plain.is_complex() else plain
        memory = plain.untyped_storage().data_ptr()
        # The format does not allow tensors that share memory.
        dense[name] = plain.clone() if memory in memories else plain
        memories.add(memory)
    pairs = [name for name, tensor in tensors.items() if tensor.is_complex()]
    path.touch()
    mode = stat.S_IMODE(path.stat().st_mode)
    try:
        save_file(dense, path, metadata={_COMPLEX: json.dumps(pairs)})
    except SafetensorError as problem:
        text = str(problem).splitlines()[0]
        if number := re.search(r"\(os error (\d+)\)", text):
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from problem
        raise OSError(errno.EIO, text) from problem
    # `save_file` replaces the file with one that only its owner can read.
    path.chmod(mode)


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Returns the tensors by name. They are mapped: data is read when it is used.

    Raises:
        Error: stage `source`; the file is damaged.
    """
    found: dict[str, torch.Tensor] = {}
    try:
        # Reject pipes: `safe_open` would wait for a writer.
        open_regular(path).close()
        with safe_open(path, framework="pt") as file:
            pairs = parse_json((file.metadata() or {}).get(_COMPLEX, "[]"))
            for name in tuple(file.keys()):
                tensor = file.get_tensor(name)
                found[name] = torch.view_as_complex(tensor) if name in pairs else tensor
    except (SafetensorError, OSError, ValueError) as problem:
        raise Error(
            "source",
            f"cannot read {path}: {str(problem).splitlines()[0]}",
            hint="export the model again with `unmess import`",
        ) from problem
    return found
