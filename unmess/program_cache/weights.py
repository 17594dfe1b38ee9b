"""Finds weights in the model's own files by their content, and maps them from there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

_SUFFIX = ".safetensors"


def in_files(
    tensors: Mapping[str, torch.Tensor], files: Iterable[str | Path]
) -> dict[str, dict[str, str]]:
    """Returns `file` and `name` for each tensor that is in one of the safetensors files.

    Dtype, shape and every byte must be the same. Models convert, tie and rename the tensors that
    they load, so names alone prove nothing.
    """
    found: dict[str, dict[str, str]] = {}
    for path in map(str, files):
        missing = {name: tensor for name, tensor in tensors.items() if name not in found}
        if missing and path.endswith(_SUFFIX):
            found |= _in_file(missing, path)
    return found


def map_tensors(places: Mapping[str, Mapping[str, str]]) -> dict[str, torch.Tensor]:
    """Maps the tensors that `in_files` has found into memory.

    Raises:
        OSError: a file cannot be read.
    """
    by_file: dict[str, list[tuple[str, str]]] = {}
    for name, place in places.items():
        by_file.setdefault(place["file"], []).append((name, place["name"]))
    found = {}
    for path, names in by_file.items():
        try:
            with safe_open(path, framework="pt") as file:
                found |= {name: file.get_tensor(there) for name, there in names}
        except SafetensorError as problem:
            raise OSError(str(problem)) from problem
    return found


def _in_file(tensors: Mapping[str, torch.Tensor], path: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    try:
        with safe_open(path, framework="pt") as file:
            there = {name: file.get_tensor(name) for name in tuple(file.keys())}
    except (SafetensorError, OSError):
        return {}
    alike: dict[Any, list[str]] = {}
    for name, tensor in there.items():
        alike.setdefault((tensor.dtype, tensor.shape), []).append(name)
    for name, tensor in tensors.items():
        candidates = alike.get((tensor.dtype, tensor.shape), [])
        # For most tensors, the name in the model ends with the name in the file, or vice versa.
        likely = [other for other in candidates if name.endswith(other) or other.endswith(name)]
        for other in [*likely, *(each for each in candidates if each not in likely)]:
            if _same(tensor, there[other]):
                found[name] = {"file": path, "name": other}
                break
    return found


def _same(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    plain = tensor.detach().contiguous()
    if not plain.numel():
        return True
    return torch.equal(_bytes(plain), _bytes(other.contiguous()))


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).view(torch.uint8)
