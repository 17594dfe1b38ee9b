"""Tries to lower an operator. Runs in workers, since it may crash."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

import unmess
from unmess.core.errors.error import Error
from unmess.core.errors.quiet import quiet_libraries
from unmess.probe.examples import example_arguments
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
