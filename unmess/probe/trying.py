"""Finds an operator by name, and tries to lower it. Runs in workers, since it may crash."""

from __future__ import annotations

import difflib
from typing import Any

import torch
from torch.utils import _pytree as pytree

import unmess
from unmess.core.errors.error import Error
from unmess.core.errors.quiet import quiet_libraries
from unmess.probe.examples import example_arguments


def look_up(name: str) -> tuple[str, str, str, list[str]] | Error:
    """Returns the operator as PyTorch spells it, its name, schema, and overloads; or an Error."""
    try:
        overload = find(name)
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
    return _try(find(name), getattr(torch, dtype), to)


def find(name: str) -> torch._ops.OpOverload:
    """Returns the operator of that name; raises an Error (`usage`) with near matches."""
    qualified = name.removeprefix("torch.ops.").replace("::", ".")
    parts = qualified.split(".")
    if len(parts) in (2, 3):
        packet = getattr(getattr(torch.ops, parts[0]), parts[1], None)
        if isinstance(packet, torch._ops.OpOverloadPacket):
            overloads = packet.overloads()
            wanted = parts[2] if len(parts) == 3 else _first(packet)
            if wanted in overloads:
                return getattr(packet, wanted)
    raise Error("usage", f"there is no operator {name!r}", hint=_near(qualified))


def _first(packet: torch._ops.OpOverloadPacket) -> str:
    """Returns the overload that a packet's name stands for: one on tensors, if there is one."""
    overloads = packet.overloads()
    on_tensors = [
        name
        for name in overloads
        if any(str(a.real_type) == "Tensor" for a in getattr(packet, name)._schema.arguments)
    ]
    candidates = on_tensors or overloads
    return next((name for name in ("default", "Tensor") if name in candidates), candidates[0])


def _near(qualified: str) -> str:
    known = [each.name for each in torch._C._jit_get_all_schemas()]
    full = {f"{s.name}.{s.overload_name}" for s in torch._C._jit_get_all_schemas()}
    spelled = qualified.replace(".", "::", 1) if "." in qualified else f"aten::{qualified}"
    near = difflib.get_close_matches(spelled, sorted({*known, *full}), n=5, cutoff=0.6)
    return f"did you mean {', '.join(near)}?" if near else "write it like aten::add.Tensor"


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
