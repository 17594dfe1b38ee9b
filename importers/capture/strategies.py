"""Ways to an ExportedProgram, one small class each, tried in order by `auto`."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import torch

from importers.capture.dynamic_shapes import Conflict, Declared, conflict, declare
from importers.capture.lazy import Lazy
from importers.capture.make_fx import MakeFx
from importers.capture.named_state import optimizers
from importers.capture.python_state import watching
from importers.capture.stack_traces import whole_stacks
from importers.capture.torchscript import TorchScript
from importers.capture.transformers_patches import exportable
from unmess.core.error import Error, first_line
from unmess.core.note import Note
from unmess.core.program import Attempt
from unmess.core.user_source import is_users, user_line

# How often ranges and relations that the model needs are taken over into what is declared.
_REFINEMENTS = 4
# Names of attributes in a note.
_SHOWN = 5


class Strategy(Protocol):
    """One way to capture a module."""

    name: ClassVar[str]

    def __call__(
        self, module: torch.nn.Module, args: tuple, kwargs: dict, dynamic_shapes: Any
    ) -> torch.export.ExportedProgram:
        """Captures `module` as it runs on the example call; raises whatever PyTorch raises."""
        ...


class NonStrict:
    """`torch.export` that runs the Python code with fake tensors."""

    name = "non-strict"

    def __call__(self, module, args, kwargs, dynamic_shapes):
        """See `Strategy`."""
        with whole_stacks(__file__):
            return torch.export.export(
                module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False
            )


class Strict:
    """`torch.export` through TorchDynamo's bytecode analysis."""

    name = "strict"

    def __call__(self, module, args, kwargs, dynamic_shapes):
        """See `Strategy`."""
        if isinstance(module, TorchScript):
            raise TypeError("TorchDynamo reads Python bytecode, and TorchScript has none")
        return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=True)


class Draft:
    """`torch.export.draft_export`: guards on data are assumed to go as they do on the example."""

    name = "draft"

    def __call__(self, module, args, kwargs, dynamic_shapes):
        """See `Strategy`."""
        with whole_stacks(__file__):
            return torch.export.draft_export(module, args, kwargs, dynamic_shapes=dynamic_shapes)


# What `auto` tries; lazy tensors only on request, since their graphs are further from the model.
AUTO: tuple[type[Strategy], ...] = (NonStrict, Strict, Draft, MakeFx)
STRATEGIES: tuple[type[Strategy], ...] = (*AUTO, Lazy)


class _Function(torch.nn.Module):
    """A function as a module that keeps its signature, since `torch.export` takes modules only."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.forward = function if _signature(function) else _generic(function)


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    """None for built-in functions such as `torch.add`, which have none."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _generic(function: Callable[..., Any]) -> Callable[..., Any]:
    def forward(*args, **kwargs):
        return function(*args, **kwargs)

    return forward


def _check_call(module: torch.nn.Module, args: tuple, kwargs: dict) -> None:
    """Raises an Error (`source`) where the example call cannot be one of the model's."""
    signature = _signature(module.forward)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as problem:
        raise Error(
            "source",
            f"the example arguments do not fit the model: {problem}",
            where=_definition(module),
            hint=f"forward takes {signature}",
        ) from None


def _check_eager(module: torch.nn.Module, declared: Declared) -> None:
    """Raises an Error (`source`) where the model does not run on its example call at all."""
    problem = _eager_problem(module, declared, torch.no_grad)
    # A function that asks for gradients runs only where they are on.
    if problem is not None and _eager_problem(module, declared, torch.enable_grad) is not None:
        raise Error(
            "source",
            f"the model fails on its example arguments, in eager too: {first_line(problem)}",
            where=user_line(problem),
            hint="; ".join(
                [
                    *(note.text for note in declared.notes),
                    "change the arguments, or the model, until eager PyTorch takes them",
                ]
            ),
        ) from problem


def _eager_problem(
    module: torch.nn.Module, declared: Declared, mode: Callable[[], Any]
) -> Exception | None:
    try:
        with mode():
            # On copies: neither the model's state nor the arguments may change.
            model, args, kwargs = copy.deepcopy((module, declared.args, declared.kwargs))
            model(*args, **kwargs)
    except Exception as problem:
        return problem
    return None


def _definition(module: torch.nn.Module) -> str | None:
    code = getattr(module.forward, "__code__", None)
    if code is None or not is_users(code.co_filename):
        return None
    return f"{code.co_filename}:{code.co_firstlineno}"


def export(
    model: torch.nn.Module | Callable[..., Any],
    args: tuple,
    kwargs: dict,
    dynamic_shapes: Any,
    strategy: str,
) -> tuple[torch.export.ExportedProgram, tuple[Attempt, ...], Declared]:
    """Captures `model` by one strategy, or by the first that succeeds (`auto`).

    Returns:
        The program, what was tried, and the example call with what is dynamic in it.

    Raises:
        Error: stage `usage` for an unknown strategy or for dynamic shapes that do not fit the
            call, `source` where the model does not run on the example call in eager, `capture`
            where no strategy succeeds; the cause is that of the first attempt, since later
            strategies fail less clearly.
    """
    module = model if isinstance(model, torch.nn.Module) else _Function(model)
    _check_call(module, args, kwargs)
    declared = declare(module, args, kwargs, dynamic_shapes)
    for _ in range(_REFINEMENTS):
        try:
            with watching(module) as changed:
                exported, attempts = _first(module, declared, strategy)
            if changed:
                declared = replace(declared, notes=(*declared.notes, _python_state(changed)))
            return exported, attempts, declared
        except Conflict as found:
            declared, last = declared.refined(module, found), found
    raise Error(
        "capture",
        f"the model's relations between dynamic sizes are not found: {first_line(last)}",
        hint="leave the sizes without names, so that PyTorch finds them",
    )


def _python_state(names: set[str]) -> Note:
    shown = ", ".join(sorted(names)[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return Note("state", f"changed in Python by each call, the program keeps the first: {shown}")


def _first(
    module: torch.nn.Module, declared: Declared, strategy: str
) -> tuple[torch.export.ExportedProgram, tuple[Attempt, ...]]:
    attempts: list[Attempt] = []
    for candidate in _chosen(strategy, module):
        start = time.perf_counter()
        try:
            with exportable(module):
                exported = candidate()(module, declared.args, declared.kwargs, declared.shapes)
        except Error:
            raise  # nothing that another strategy could do about
        except Exception as problem:
            # Other strategies find the same, or make static what is to be dynamic.
            if found := conflict(problem):
                raise found from problem
            attempts.append(Attempt(candidate.name, time.perf_counter() - start, problem))
        else:
            attempts.append(Attempt(candidate.name, time.perf_counter() - start))
            return exported, tuple(attempts)
    _check_eager(module, declared)
    problem = attempts[0].error
    tried = ", ".join(attempt.strategy for attempt in attempts)
    raise Error(
        "capture",
        f"torch.export does not take the model ({tried}): {first_line(problem)}",
        where=user_line(problem),
        hint=capture_hint(problem),
    ) from problem


def _chosen(strategy: str, module: torch.nn.Module) -> Sequence[type[Strategy]]:
    if strategy == "auto":
        # What torch.export makes of a training step is not one.
        return (MakeFx,) if optimizers(module) else AUTO
    for candidate in STRATEGIES:
        if candidate.name == strategy:
            return (candidate,)
    names = ", ".join(["auto", *(candidate.name for candidate in STRATEGIES)])
    raise Error("usage", f"unknown capture strategy {strategy!r}", hint=f"one of {names}")


def capture_hint(problem: BaseException) -> str:
    """What to do about a model that `torch.export` does not take."""
    text = f"{type(problem).__name__} {problem}"
    if "data-dependent" in text or "GuardOnDataDependent" in text:
        return "the control flow depends on values: use torch.where or torch.cond, or torch._check"
    if "DynamicShapes" in text or "Constraints violated" in text or "ConstraintViolation" in text:
        return "the model fixes a dimension declared dynamic: make it static or use Dim.AUTO"
    return "eager takes the model, torch.export does not: `unmess check --debug` shows more"
