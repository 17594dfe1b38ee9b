"""Capture strategies, one class each. The strategy `auto` tries them in order."""

from __future__ import annotations

import contextlib
import copy
import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol
from unittest import mock

import torch
from torch._guards import detect_fake_mode
from torch.fx._lazy_graph_module import _use_lazy_graph_module
from torch.fx.experimental import sym_node, symbolic_shapes
from torch.utils import _pytree as pytree

from importers.capture.data_positions import DataPositions
from importers.capture.draft_values import Defaults, parameter_values
from importers.capture.dynamic_marks import marks_restored
from importers.capture.dynamic_shapes import Conflict, Declared, conflict, declare
from importers.capture.higher_order import block_masks_without_vmap
from importers.capture.known_values import known_values, named_tensors
from importers.capture.lazy import Lazy
from importers.capture.make_fx import MakeFx
from importers.capture.named_state import optimizers
from importers.capture.python_state import Changed, refuse_lost_tensors, watching
from importers.capture.raise_branches import TraceableComparisons, raise_branches
from importers.capture.stack_traces import full_stack_traces
from importers.capture.tensor_attributes import (
    carried,
    changes_its_form,
    is_alike,
    own_buffers,
    tensor_attributes,
)
from importers.capture.tensor_data import data_access, data_access_in_dynamo
from importers.capture.torchscript import TorchScript
from importers.capture.transformers_patches import exportable, register_caches
from importers.capture.transforms import ended_transforms
from importers.exporting import capture_hint, depends_on_data
from unmess.core.errors.error import Error, first_line
from unmess.core.errors.user_source import is_users, user_line
from unmess.core.program.eager import copied
from unmess.core.program.note import Note
from unmess.core.program.program import Attempt, Specialized

# The maximum number of captures. Each one after the first uses the sizes and state attributes that
# the previous one requires.
_REFINEMENTS = 4
# The maximum number of attribute names in a note.
_SHOWN = 5


class Strategy(Protocol):
    """One way to capture a module.

    Attributes:
        specialized: names of the module's tensors whose values decided the control flow.
    """

    name: ClassVar[str]
    specialized: frozenset[str]

    def __call__(
        self, module: torch.nn.Module, args: tuple, kwargs: dict, dynamic_shapes: Any
    ) -> torch.export.ExportedProgram:
        """Captures `module` with the example call. PyTorch's exceptions propagate."""
        ...


class NonStrict:
    """`torch.export` in non-strict mode, which runs the Python code with fake tensors."""

    name = "non-strict"
    specialized: frozenset[str] = frozenset()

    def __call__(self, module, args, kwargs, dynamic_shapes):
        """See `Strategy`."""
        try:
            return self._export(module, args, kwargs, dynamic_shapes)
        except Exception as problem:
            if not depends_on_data(problem):
                raise
            with TraceableComparisons(), raise_branches(), known_values(module) as known:
                try:
                    exported = self._export(module, args, kwargs, dynamic_shapes)
                except Exception:
                    raise problem from None
            if known.used & known.written:
                raise ValueError(
                    "the model takes a branch by the value of "
                    f"{_shown(known.used & known.written)}, which it writes in the same call"
                ) from problem
            self.specialized = frozenset(known.used)
            return exported

    def _export(self, module, args, kwargs, dynamic_shapes):
        with (
            full_stack_traces(__file__),
            DataPositions(),
            data_access(module),
            block_masks_without_vmap(),
            # PyTorch changes the graph several times. It becomes Python code only if it is called.
            _use_lazy_graph_module(True),
        ):
            return torch.export.export(
                module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False
            )


class Strict:
    """`torch.export` through TorchDynamo's bytecode analysis."""

    name = "strict"
    specialized: frozenset[str] = frozenset()

    def __call__(self, module, args, kwargs, dynamic_shapes):
        """See `Strategy`."""
        if isinstance(module, TorchScript):
            raise TypeError(
                "TorchDynamo needs Python bytecode, which TorchScript modules do not have"
            )
        with data_access_in_dynamo():
            return torch.export.export(
                module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=True
            )


class Draft:
    """`torch.export.draft_export`, which assumes that guards on data hold as on the example."""

    name = "draft"
    specialized: frozenset[str] = frozenset()

    def __call__(self, module, args, kwargs, dynamic_shapes):
        """See `Strategy`."""
        defaults = Defaults(follow_example=False)
        try:
            exported = self._export(module, args, kwargs, dynamic_shapes, defaults)
        except Exception:
            if not defaults.contradicted:
                raise
            defaults = Defaults(follow_example=True)
            exported = self._export(module, args, kwargs, dynamic_shapes, defaults)
        # The fake tensors of a draft carry real values. Later traces, such as decompositions, have
        # no values for their arguments, and checks of values would fail.
        fake_mode = detect_fake_mode([node.meta.get("val") for node in exported.graph.nodes])
        if fake_mode is not None:
            fake_mode.propagate_real_tensors = False
        return exported

    def _export(self, module, args, kwargs, dynamic_shapes, defaults):
        with (
            full_stack_traces(__file__),
            _no_log_of_sizes(),
            DataPositions(),
            data_access(module),
            parameter_values(),
            defaults,
        ):
            return torch.export.draft_export(module, args, kwargs, dynamic_shapes=dynamic_shapes)


@contextlib.contextmanager
def _no_log_of_sizes() -> Iterator[None]:
    """Omits operations on symbolic sizes from the log of a draft export, in the `with` block.

    They are only for PyTorch's report, which is not used here. Each record has two call stacks, and
    making them would take most of the time of the export.
    """
    with (
        mock.patch.object(sym_node, "dtrace_structured", lambda *_, **__: None),
        mock.patch.object(symbolic_shapes, "dtrace_structured", lambda *_, **__: None),
    ):
        yield


# The strategies of `auto`. `Lazy` only runs on request: its graphs resemble the model less.
AUTO: tuple[type[Strategy], ...] = (NonStrict, Strict, Draft, MakeFx)
STRATEGIES: tuple[type[Strategy], ...] = (*AUTO, Lazy)


class _Function(torch.nn.Module):
    """Wraps a function as a module with its signature, because `torch.export` requires a module."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.forward = function if _signature(function) else _generic(function)


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    """Returns the signature of a function; None for built-ins such as `torch.add`."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _generic(function: Callable[..., Any]) -> Callable[..., Any]:
    def forward(*args, **kwargs):
        return function(*args, **kwargs)

    return forward


def _check_call(module: torch.nn.Module, args: tuple, kwargs: dict) -> None:
    """Raises an Error (`source`) if the example call does not fit the model's signature."""
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
    """Raises an Error (`source`) if the model does not run on its example call in eager."""
    problem = _eager_problem(module, declared, torch.no_grad)
    # A function that computes gradients only runs with gradients enabled.
    if problem is not None and _eager_problem(module, declared, torch.enable_grad) is not None:
        raise Error(
            "source",
            f"the model fails on its example arguments in eager PyTorch: {first_line(problem)}",
            where=user_line(problem),
            hint="; ".join(
                [
                    *(note.text for note in declared.notes),
                    "change the arguments or the model, so that the call succeeds in eager PyTorch",
                ]
            ),
        ) from problem


def _eager_problem(
    module: torch.nn.Module, declared: Declared, mode: Callable[[], Any]
) -> Exception | None:
    try:
        # Use copies, so that neither the model's state nor the arguments change.
        model, args, kwargs = copy.deepcopy((module, declared.args, declared.kwargs))
    except Exception:
        # Without copies, a call is not safe. The strategy's own failure is reported.
        return None
    try:
        with mode():
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
) -> tuple[torch.export.ExportedProgram, tuple[Attempt, ...], Declared, tuple[Specialized, ...]]:
    """Captures `model` by one strategy, or by the first that succeeds (`auto`).

    Returns:
        The program, the attempts, the example call with its dynamic dimensions, and the model's
        tensors whose values decided its control flow.

    Raises:
        Error: stage `usage` for an unknown strategy or for dynamic shapes that do not fit the
            call; `source` if the model does not run on the example call in eager; `capture` if no
            strategy succeeds. The cause is that of the first attempt, because later strategies
            fail with less clear messages.
    """
    module = model if isinstance(model, torch.nn.Module) else _Function(model)
    _check_call(module, args, kwargs)
    register_caches(module)
    declared = declare(module, args, kwargs, dynamic_shapes)
    state: set[str] = set()
    for _ in range(_REFINEMENTS):
        try:
            with carried(module, state):
                exported, attempts, used, changed = _first(module, declared, strategy)
                tensors = named_tensors(module) if used else {}
                specialized = tuple(
                    Specialized(name, tensors[name], tensors[name].detach().clone())
                    for name in sorted(used)
                )
        except Conflict as found:
            declared, failure = declared.refined(module, found), _unrelated(found)
            continue
        if attempts[-1].strategy == Strict.name:
            changed = _changed_in_eager(module, declared)
        if more := _state_in_attributes(module, changed, declared) - state:
            state, failure = state | more, _unsettled(more)
            continue
        notes = _notes(module, changed, declared, state)
        declared = replace(declared, notes=(*declared.notes, *notes))
        return exported, attempts, declared, specialized
    raise failure


def _unrelated(last: Conflict) -> Error:
    """Returns the error for dynamic sizes whose relations are still unknown."""
    return Error(
        "capture",
        f"the relations between the model's dynamic sizes are unknown after {_REFINEMENTS} "
        f"attempts: {first_line(last)}",
        hint="declare the sizes without names, so that PyTorch relates them",
    )


def _unsettled(attributes: set[str]) -> Error:
    """Returns the error for attributes that the last attempt found to be state."""
    return Error(
        "capture",
        f"the model still updates attributes that are not captured as state after {_REFINEMENTS} "
        f"attempts: {_shown(attributes)}",
        hint="keep the tensors in buffers (register_buffer)",
    )


def _state_in_attributes(module: torch.nn.Module, changed: Changed, declared: Declared) -> set[str]:
    """Returns the paths of attributes and buffers that a call assigns for the next one.

    Raises:
        Error: stage `capture`, if such tensors have other shapes or dtypes after a call.
    """
    before = {**tensor_attributes(module), **own_buffers(module)}
    found = {**changed.tensors, **changed.buffers}
    # Transformers sets some caches of an earlier call to None during the capture. They are not
    # state, but exist again in `before`.
    assigned = {
        name: now for name, now in found.items() if name in before and name not in changed.created
    }
    grown = {name for name, now in assigned.items() if not is_alike(before[name], now)}
    if grown and _calls_differ(module, declared):
        name = min(grown)
        raise changes_its_form(name, before[name], assigned[name])
    return (set(assigned) - grown) | changed.written


def _notes(
    module: torch.nn.Module, changed: Changed, declared: Declared, state: set[str]
) -> list[Note]:
    """Returns notes on attributes that are state, and on those that the program cannot update."""
    notes = [_python_state(changed.values)] if changed.values else []
    # Buffers are state in any case, so they need no note.
    if plain := state & tensor_attributes(module).keys():
        notes.append(
            Note(
                "state", f"attributes that the model updates, captured as buffers: {_shown(plain)}"
            )
        )
    made = set(changed.tensors) - set(tensor_attributes(module))
    if made and _calls_differ(module, declared):
        notes.append(
            Note(
                "state",
                "the first eager call creates these attributes, and the program does not keep "
                f"them: {_shown(made)}; call the model once before the capture to make them state",
            )
        )
    return notes


def _changed_in_eager(module: torch.nn.Module, declared: Declared) -> Changed:
    """Returns what an eager call changes. TorchDynamo drops assignments and runs no hooks."""
    trial = copy.deepcopy(module)
    args, kwargs = copied((declared.args, declared.kwargs))
    with watching(trial) as changed, torch.no_grad(), torch.random.fork_rng(devices=[]):
        trial(*args, **kwargs)
    return changed


def _calls_differ(module: torch.nn.Module, declared: Declared) -> bool:
    """Returns True if two equal calls in eager return different results."""
    if isinstance(module, TorchScript):
        return True
    trial = copy.deepcopy(module)
    results = []
    for _ in range(2):
        args, kwargs = copied((declared.args, declared.kwargs))
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            # A result may be an attribute that the next call writes.
            results.append(copied(pytree.tree_leaves(trial(*args, **kwargs))))
    return not all(map(_is_equal, *results))


def _is_equal(first: Any, second: Any) -> bool:
    if not isinstance(first, torch.Tensor):
        return bool(first == second)
    return first.shape == second.shape and torch.allclose(first, second, equal_nan=True)


def _shown(names: set[str]) -> str:
    return ", ".join(sorted(names)[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def _python_state(names: set[str]) -> Note:
    return Note(
        "state",
        "each call changes these Python attributes, and the program keeps their first "
        f"values: {_shown(names)}",
    )


def _first(
    module: torch.nn.Module, declared: Declared, strategy: str
) -> tuple[torch.export.ExportedProgram, tuple[Attempt, ...], frozenset[str], Changed]:
    """Captures with the first strategy that succeeds.

    Returns:
        The program, the attempts, the specialized tensors, and what calls of `module` changed.
    """
    attempts: list[Attempt] = []
    for candidate in _chosen(strategy, module):
        start = time.perf_counter()
        try:
            call = declared.args, declared.kwargs
            with (
                marks_restored(*call),
                ended_transforms(),
                exportable(module, call=call),
                watching(module) as changed,
            ):
                way = candidate()
                exported = way(module, declared.args, declared.kwargs, declared.shapes)
            refuse_lost_tensors(exported)
        except Error:
            raise  # other strategies would fail too
        except Exception as problem:
            # Other strategies find the same conflict, or make the dynamic dimension static.
            if found := conflict(problem):
                raise found from problem
            attempts.append(Attempt(candidate.name, time.perf_counter() - start, problem))
        else:
            attempts.append(Attempt(candidate.name, time.perf_counter() - start))
            return exported, tuple(attempts), way.specialized, changed
    _check_eager(module, declared)
    problem = attempts[0].error
    tried = ", ".join(attempt.strategy for attempt in attempts)
    raise Error(
        "capture",
        f"torch.export cannot capture the model (tried: {tried}): {first_line(problem)}",
        where=user_line(problem),
        hint=capture_hint(problem),
    ) from problem


def _chosen(strategy: str, module: torch.nn.Module) -> Sequence[type[Strategy]]:
    if strategy == "auto":
        # torch.export does not capture a training step correctly.
        return (MakeFx,) if optimizers(module) else AUTO
    for candidate in STRATEGIES:
        if candidate.name == strategy:
            return (candidate,)
    names = ", ".join(["auto", *(candidate.name for candidate in STRATEGIES)])
    raise Error("usage", f"unknown capture strategy {strategy!r}", hint=f"use one of {names}")
