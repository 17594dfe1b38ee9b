"""Example inputs that are described rather than given: by a file, or by the user in text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.sources.random_weights import seeded
from unmess.core.error import Error, first_line

_DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "i1": torch.bool,
    "c64": torch.complex64,
    "c128": torch.complex128,
}
_TENSOR = re.compile(r"(?P<shape>(?:\d+x)*)(?P<dtype>[a-z]+\d+)")
_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)")
_CONSTANTS = {"true": True, "false": False, "none": None}
_FORMS = "1x3x224x224xf32 (a random tensor), 3, 0.5, true, none or file.npy; NAME=… for a keyword"


@dataclass(frozen=True)
class TensorLike:
    """The shape and dtype of a tensor."""

    shape: tuple[int, ...]
    dtype: torch.dtype


def random_tensors(tree: Any) -> Any:
    """`tree` with a random tensor for each `TensorLike`, the same ones in every process.

    Floating-point elements are normally distributed; integers and bools are 0 or 1, which is in
    the range of any table that they may be an index of.
    """
    with seeded():
        return pytree.tree_map_only(TensorLike, _random_tensor, tree)


def _random_tensor(like: TensorLike) -> torch.Tensor:
    if like.dtype.is_floating_point or like.dtype.is_complex:
        return torch.randn(like.shape, dtype=like.dtype)
    return torch.randint(0, 2, like.shape).to(like.dtype)


def parse_inputs(texts: Sequence[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments from `--input` texts, in their order.

    Raises:
        Error: stage `usage`.
    """
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in texts:
        named = _NAMED.fullmatch(text)
        if named:
            kwargs[named["name"]] = _parse(named["value"])
        elif kwargs:
            raise Error(
                "usage",
                f"input {text!r} comes after a named one",
                hint="give positional ones first",
            )
        else:
            args.append(_parse(text))
    return random_tensors((tuple(args), kwargs))


def _parse(text: str) -> Any:
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if text.endswith(".npy"):
        return _load(text)
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    tensor = _TENSOR.fullmatch(text)
    if tensor is None or tensor["dtype"] not in _DTYPES:
        raise Error("usage", f"{text!r} is not an input", hint=f"write {_FORMS}")
    sizes = tuple(int(size) for size in tensor["shape"].split("x") if size)
    return TensorLike(sizes, _DTYPES[tensor["dtype"]])


def _load(path: str) -> torch.Tensor:
    import numpy

    try:
        return torch.from_numpy(numpy.load(Path(path).expanduser(), allow_pickle=False))
    except (OSError, ValueError, TypeError) as problem:
        raise Error(
            "usage",
            f"{path} is not a NumPy array: {first_line(problem)}",
            hint="write it with numpy.save",
        ) from problem
