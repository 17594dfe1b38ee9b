"""Creates example inputs from descriptions: in a file, or in text from the user."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch
from torch.utils import _pytree as pytree

from importers.sources.random_weights import seeded
from unmess.core.errors.error import Error, first_line

DTYPES = {
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
_INTEGER = re.compile(r"[+-]?\d+")
_TENSOR = re.compile(r"(?P<shape>(?:\d+x)*)(?P<dtype>[a-z]+\d+)")
_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)")
_CONSTANTS = {"true": True, "false": False, "none": None}
# The digits of the largest size, the most dimensions that all PyTorch operators support, and the
# characters of an input in a message.
_DIGITS, _MOST_AXES, _SHOWN = 19, 64, 60
_FORMS = "1x3x224x224xf32 (a random tensor), 3, 0.5, true, none or file.npy; NAME=… for a keyword"


@dataclass(frozen=True)
class TensorLike:
    """The shape and dtype of a tensor."""

    shape: tuple[int, ...]
    dtype: torch.dtype


def random_tensors(tree: Any) -> Any:
    """Replaces each `TensorLike` in `tree` by a random tensor, the same in every process.

    Floating-point elements are normally distributed. Integers and bools are 0 or 1, so that they
    are valid indices.
    """
    with seeded():
        return pytree.tree_map_only(TensorLike, _random_tensor, tree)


def _random_tensor(like: TensorLike) -> torch.Tensor:
    if like.dtype.is_floating_point or like.dtype.is_complex:
        return torch.randn(like.shape, dtype=like.dtype)
    return torch.randint(0, 2, like.shape).to(like.dtype)


def parse_inputs(texts: Sequence[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Parses `--input` texts to positional and keyword arguments, in their order.

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
                f"the positional input {text!r} follows a keyword input",
                hint="give positional inputs first",
            )
        else:
            args.append(_parse(text))
    return random_tensors((tuple(args), kwargs))


def _parse(text: str) -> Any:
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if text.endswith(".npy"):
        return _load(text)
    if _INTEGER.fullmatch(text):
        return _integer(text)
    with contextlib.suppress(ValueError):
        return float(text)
    tensor = _TENSOR.fullmatch(text)
    if tensor is None or tensor["dtype"] not in DTYPES:
        raise Error("usage", f"{_short(text)} is not an input", hint=f"write {_FORMS}")
    dtype = DTYPES[tensor["dtype"]]
    sizes = tensor["shape"].split("x")[:-1]
    # Longer numbers are not valid sizes, and Python takes long to parse them.
    shape = tuple(int(size) if len(size) <= _DIGITS else 1 << 63 for size in sizes)
    _check_size(text, shape, dtype)
    return TensorLike(shape, dtype)


def _integer(text: str) -> int:
    """Parses an integer; raises an Error (`usage`) if it does not fit into 64 bits."""
    # Python refuses to parse thousands of digits.
    if len(text) > _DIGITS + 1 or int(text) not in range(-(1 << 63), 1 << 63):
        raise Error("usage", f"the input {_short(text)} does not fit into 64 bits")
    return int(text)


def _check_size(text: str, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    """Raises an Error (`usage`) for a tensor that PyTorch or this machine cannot hold."""
    if len(shape) > _MOST_AXES:
        raise Error("usage", f"the input {_short(text)} has more than {_MOST_AXES} dimensions")
    # PyTorch computes strides as if a size of 0 were 1.
    if math.prod(max(size, 1) for size in shape) >= 1 << 63:
        raise Error("usage", f"the sizes of the input {_short(text)} do not fit into 64 bits")
    memory = psutil.virtual_memory().total
    needed = math.prod(shape) * dtype.itemsize
    if needed > memory:
        raise Error(
            "usage",
            f"the input {_short(text)} takes {needed / 1e9:.3g} GB of memory, "
            f"and this machine has {memory / 1e9:.3g} GB",
            hint="give smaller sizes",
        )


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def _load(path: str) -> torch.Tensor:
    import numpy

    try:
        return torch.from_numpy(numpy.load(Path(path).expanduser(), allow_pickle=False))
    except Exception as problem:
        # A damaged file can raise any exception: EOFError, MemoryError, ….
        raise Error(
            "usage",
            f"{path} is not a NumPy array: {first_line(problem)}",
            hint="write it with numpy.save",
        ) from problem
