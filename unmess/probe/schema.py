"""What is known of an operator, and how far it gets, found out by trying."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.error import Error
from unmess.core.names import EXITS
from unmess.probe.children import Died, each_in_children
from unmess.probe.examples import example_arguments

_DTYPES = (torch.float32, torch.int64)
_TIMEOUT = 120.0


@dataclass(frozen=True)
class Trial:
    """An operator on example arguments of one dtype.

    Attributes:
        dtype: of the tensors.
        arguments: as text; None where no example was found that the operator takes.
        imports: it reaches the stage `raw`.
        decomposes: the captured program has other operators in its place.
        into: the operators that the captured program has.
        lowers: by exit, whether it gets there.
        causes: by stage, why it stops.
    """

    dtype: str
    arguments: str | None = None
    imports: bool = False
    decomposes: bool = False
    into: list[str] = field(default_factory=list)
    lowers: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(EXITS, False))
    causes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Description:
    """An operator: `name` as the user may write it, its schema, its packet's overloads, trials."""

    name: str
    schema: str
    overloads: list[str]
    trials: list[Trial]


def describe(name: str) -> Description:
    """Looks an operator up and tries it.

    Args:
        name: `aten::add.Tensor`, `aten.add.Tensor` or, for the first overload, `aten::add`.

    Raises:
        Error: stage `usage`, with near matches, where there is no such operator.
    """
    overload = find(name)
    packet = overload.overloadpacket
    jobs = [(overload, dtype, to) for dtype in _DTYPES for to in ("raw", *EXITS)]
    answers = list(each_in_children(jobs, lambda job: _try(*job), _TIMEOUT))
    per_dtype = len(EXITS) + 1
    trials = [
        _trial(str(overload), dtype, answers[index * per_dtype : (index + 1) * per_dtype])
        for index, dtype in enumerate(_DTYPES)
    ]
    names = [getattr(packet, each).name() for each in packet.overloads()]
    return Description(overload.name(), str(overload._schema), names, trials)


def find(name: str) -> torch._ops.OpOverload:
    """The operator of that name; raises an Error (`usage`) with near matches."""
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
    """The overload that is meant by the packet's name: one on tensors, where there is one."""
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
    return f"did you mean {', '.join(near)}?" if near else "one such as aten::add.Tensor"


def _try(overload: torch._ops.OpOverload, dtype: torch.dtype, to: str) -> dict[str, Any]:
    """How far the operator gets on its way to a stage; runs in a child."""
    import unmess

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


def _trial(operator: str, dtype: torch.dtype, answers: list[dict[str, Any] | Died]) -> Trial:
    spelled = str(dtype).removeprefix("torch.")
    found = next((answer for answer in answers if isinstance(answer, dict)), None)
    if found is None or found["arguments"] is None:
        return Trial(spelled)
    raw, *rest = answers
    causes = {}
    for to, answer in zip(("raw", *EXITS), answers, strict=True):
        if isinstance(answer, Died):
            causes.setdefault(to, answer.cause)
        elif "stage" in answer:
            causes.setdefault(answer["stage"], answer["cause"])
    return Trial(
        spelled,
        arguments=found["arguments"],
        imports=_reached(raw),
        decomposes=bool(found["into"]) and operator not in found["into"],
        into=found["into"],
        lowers={to: _reached(answer) for to, answer in zip(EXITS, rest, strict=True)},
        causes=causes,
    )


def _reached(answer: dict[str, Any] | Died) -> bool:
    return isinstance(answer, dict) and "stage" not in answer


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
