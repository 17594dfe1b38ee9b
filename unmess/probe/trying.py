"""Tests whether an operator lowers, with example arguments made from its schema."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

import unmess
from unmess.core.errors.error import Error
from unmess.core.errors.quiet import quiet_libraries
from unmess.probe.finding import find_operator


def look_up(name: str) -> tuple[str, str, str, list[str]] | Error:
    """Returns the operator as PyTorch spells it, its name, schema, and overloads; or an Error."""
    try:
        overload = find_operator(name)
    except Error as error:
        return error
    packet = overload.overloadpacket
    names = [getattr(packet, each).name() for each in packet.overloads()]
    return str(overload), overload.name(), str(overload._schema), names


def attempt(job: tuple[str, str, str]) -> dict[str, Any]:
    """Returns how far an operator gets on its way to a stage.

    Args:
        job: the operator's name, the dtype of its tensors, and the stage.
    """
    quiet_libraries()
    name, dtype, to = job
    return _try(find_operator(name), getattr(torch, dtype), to)


def _try(overload: torch._ops.OpOverload, dtype: torch.dtype, to: str) -> dict[str, Any]:
    example = example_arguments(overload, dtype)
    if example is None:
        return {"arguments": None}
    args, kwargs = example
    leaves, spec = pytree.tree_flatten(example)
    tensors = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))

    def call(*values: torch.Tensor) -> Any:
        given = iter(values)
        filled = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        positional, named = pytree.tree_unflatten(filled, spec)
        return overload(*positional, **named)

    answer: dict[str, Any] = {"arguments": _spelled(args, kwargs), "into": []}
    try:
        program = unmess.capture(call, tensors, strategy="non-strict")
        answer["into"] = list(
            dict.fromkeys(
                str(node.target)
                for node in program.exported.graph.nodes
                if isinstance(node.target, torch._ops.OpOverload)
            )
        )
        unmess.lower(program, to=to)
    except Error as error:
        answer |= {"stage": error.stage, "cause": error.cause}
    return answer


def _spelled(args: tuple, kwargs: dict[str, Any]) -> str:
    def text(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            sizes = [*map(str, value.shape), str(value.dtype).removeprefix("torch.")]
            return "x".join(sizes)
        if isinstance(value, list):
            return f"[{', '.join(map(text, value))}]"
        return repr(value)

    named = [f"{name}={text(value)}" for name, value in kwargs.items()]
    return ", ".join([*map(text, args), *named])


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
