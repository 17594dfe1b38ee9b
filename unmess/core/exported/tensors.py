"""Tensors by name in a safetensors file, which is mapped when it is read."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from unmess.core.error import Error

# In the file's metadata: the names of the complex ones.
_COMPLEX = "unmess.complex"


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes tensors, whole or not at all. Complex ones are pairs of real numbers there.

    Raises:
        OSError: the file cannot be written.
    """
    memories: set[int] = set()
    dense: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        plain = tensor.detach().resolve_conj().resolve_neg()
        plain = (torch.view_as_real(plain) if plain.is_complex() else plain).contiguous()
        memory = plain.untyped_storage().data_ptr()
        # The format has no two tensors in one memory.
        dense[name] = plain.clone() if memory in memories else plain
        memories.add(memory)
    # A file that is there may be mapped, by the very tensors that are written.
    handle, unfinished = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    os.close(handle)
    try:
        pairs = [name for name, tensor in tensors.items() if tensor.is_complex()]
        save_file(dense, unfinished, metadata={_COMPLEX: json.dumps(pairs)})
        Path(unfinished).chmod(0o666 & ~_umask())
        os.replace(unfinished, path)
    except SafetensorError as problem:
        raise OSError(errno.EIO, str(problem).splitlines()[0]) from problem
    finally:
        Path(unfinished).unlink(missing_ok=True)


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Tensors by name, as memory that is mapped, and not read before it is used.

    Raises:
        Error: stage `source`; the file is damaged.
    """
    found: dict[str, torch.Tensor] = {}
    try:
        with safe_open(path, framework="pt") as file:
            pairs = json.loads((file.metadata() or {}).get(_COMPLEX, "[]"))
            for name in tuple(file.keys()):
                tensor = file.get_tensor(name)
                found[name] = torch.view_as_complex(tensor) if name in pairs else tensor
    except (SafetensorError, OSError) as problem:
        raise Error(
            "source",
            f"{path} cannot be read: {str(problem).splitlines()[0]}",
            hint="export the model again with `unmess import`",
        ) from problem
    return found


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
