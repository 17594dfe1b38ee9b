"""Finds an operator by name."""

from __future__ import annotations

import difflib

import torch

from unmess.core.errors.error import Error


def find_operator(name: str) -> torch._ops.OpOverload:
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
