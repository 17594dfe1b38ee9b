"""Example arguments for an operator, made from its schema."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

# All tensors of a call get the same shape. Most operators accept one of these.
_SHAPES = ((4, 4), (4, 4, 4), (4, 4, 3, 3), (4,), (), (4, 4, 3, 3, 3))
# Values of integers, also in lists: sizes, dimensions, strides.
_NUMBERS = (1, 0, 4)
_LENGTHS = (1, 2, 3)
_INDICES = ("index", "indices", "token", "offsets")
_MASKS = ("mask", "condition")


def example_arguments(
    overload: torch._ops.OpOverload, dtype: torch.dtype
) -> tuple[tuple, dict] | None:
    """Returns arguments that the operator accepts, with zero tensors of `dtype`; None without any.

    Arguments with a default keep it. This runs the operator, so call it in a process that may
    crash.
    """
    for candidate in _candidates(overload, dtype):
        try:
            with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
                overload(*candidate[0], **candidate[1])
            # Fake tensors accept some dtypes that no kernel supports.
            args, kwargs = copy.deepcopy(candidate)
            overload(*args, **kwargs)
        except Exception:
            continue
        return candidate
    return None


def _candidates(
    overload: torch._ops.OpOverload, dtype: torch.dtype
) -> Iterator[tuple[tuple, dict]]:
    required = [
        argument for argument in overload._schema.arguments if not argument.has_default_value()
    ]
    for shape, number, length in itertools.product(_SHAPES, _NUMBERS, _LENGTHS):
        values = [_value(argument, dtype, shape, number, length) for argument in required]
        pairs = list(zip(required, values, strict=True))
        yield (
            tuple(value for argument, value in pairs if not argument.kwarg_only),
            {argument.name: value for argument, value in pairs if argument.kwarg_only},
        )


def _value(argument, dtype: torch.dtype, shape: tuple, number: int, length: int) -> Any:
    kind = str(argument.real_type)
    if kind.startswith("Optional[") and kind != "List[Optional[Tensor]]":
        return None
    if kind == "List[Optional[Tensor]]":
        return [torch.zeros(shape[:1], dtype=torch.int64)]
    if kind == "Tensor":
        return torch.zeros(shape, dtype=_dtype(argument.name, dtype))
    if kind == "List[Tensor]":
        return [torch.zeros(shape, dtype=dtype)] * 2
    if kind.startswith("List["):
        element = {"List[bool]": bool, "List[float]": float}.get(kind, int)
        return [element(number)] * length
    simple = {
        "int": number,
        "SymInt": number,
        "float": 0.5,
        "bool": False,
        "number": 2,
        "Scalar": 2,
        "str": "mean",
        "ScalarType": dtype,
        "Layout": torch.strided,
        "Device": torch.device("cpu"),
    }
    return simple.get(kind)


def _dtype(name: str, dtype: torch.dtype) -> torch.dtype:
    if any(part in name for part in _INDICES):
        return torch.int64
    return torch.bool if any(part in name for part in _MASKS) else dtype
