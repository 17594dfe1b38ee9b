"""Loaded programs, which are called with torch tensors, like the model itself."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from pipelines.backends.backend import Backend, Numerics
from pipelines.backends.parts import HeldState, compile_parts, load_parts
from unmess.core.errors.error import Error
from unmess.core.module.module import Module
from unmess.core.processes.current_stage import enter_stage
from unmess.core.processes.temporary_folders import temporary_folder
from unmess.core.program.borrowed_memory import BorrowedMemory
from unmess.core.program.note import Note
from unmess.core.program.weights import (
    check_specialized,
    check_weights,
    replaced_weights,
    row_major,
)
from unmess.core.signature.entry_points import EntryPoint, EntryPoints
from unmess.core.signature.signature import Argument, Result, Signature
from unmess.core.signature.torch_signature import quick_check, tensor_misfit


class Executable(EntryPoints["ExecutableEntryPoint"]):
    """A program on a backend, or several programs that share weights and state.

    See `EntryPoints` for the calls, which take and return torch tensors.

    Any number of threads may call at once. Calls of a program that has state, or that draws random
    numbers, run one after the other.

    Attributes:
        name: the name of the model.
        runner: the name of the backend.
        signatures: the signature of each entry point by name.
        state: the tensors that the model mutates, by name, after the last call of any entry point.
            A call reads them and may write them in place. The Executable owns tensors that are
            assigned here. It never writes to the model's own tensors or to the arguments of a call.
        seconds: time spent, by step (`import`, `lower`, `compile`, `load`).
        notes: choices for the program that the user did not ask for.
        tolerances, numerics: those that the backend declares: see `Backend`.
        preset: the name of the compiler's options; None for a backend without presets.
        partitions: with `fallback="eager"`, the regions of each entry point and the operators
            outside, by name; empty if the program was compiled as a whole.
    """

    def __init__(self, module: Module, backend: Backend):
        """Compiles and loads `module`, at any stage up to `linalg`, without changing it.

        Raises:
            Error: the stage that failed, up to `load`.
        """
        self.runner = backend.name
        self.tolerances = dict(getattr(backend, "tolerances", {}))
        self.numerics: Numerics = getattr(backend, "numerics", Numerics())
        self.name = module.name
        self.seconds = dict(module.seconds)
        self.signatures = dict(module.entries)
        check_weights(self.signatures, module.weights, "load")
        programs = [] if module.program is None else list(module.program.entries.values())
        check_specialized(programs)
        self.notes = replaced_weights(programs)
        # Borrowed from the model. Only weights that compiled code cannot read directly are copied.
        # Detached: `t_()` and the like of a parameter do not change the shapes of these.
        self._weights = {
            name: row_major(module.weights[name]).detach() for name in self._names("weight")
        }
        self._borrowed = BorrowedMemory(self._weights)
        self.state: MutableMapping[str, torch.Tensor] = {
            name: row_major(module.weights[name].detach().clone()) for name in self._names("state")
        }
        self._passes_weights = backend.input.weights == "arguments"
        # For each entry point, its arguments with the weights, and the places of the others.
        self._arguments = {
            entry: (
                [self._weights.get(a.name) if a.kind == "weight" else None for a in arguments],
                [place for place, a in enumerate(arguments) if a.kind != "weight"],
            )
            for entry, arguments in ((e, s.arguments) for e, s in self.signatures.items())
        }
        # For each entry point, the inputs and states with their quick checks.
        self._passed = {
            entry: [(a, quick_check(a.spec)) for a in signature.arguments if a.kind != "weight"]
            for entry, signature in self.signatures.items()
        }
        self._folder = temporary_folder()
        weights = {**module.weights, **self._weights}
        shared = replace(module, weights=weights, seconds=self.seconds)
        with self._compiling():
            artifacts = compile_parts(backend, shared, Path(self._folder.name))
        if not any(Path(self._folder.name).iterdir()):
            self._folder.cleanup()
        self.notes += tuple(note for each in artifacts for note in getattr(each, "notes", ()))
        self.preset: str | None = getattr(artifacts[0], "preset", None)
        self.partitions: Mapping[str, Any] = getattr(artifacts[0], "partitions", {})
        has_globals = any(getattr(each, "has_globals", True) for each in artifacts)
        enter_stage("load")
        start = time.perf_counter()
        self._program = load_parts(backend, artifacts, self.signatures)
        hold = getattr(self._program, "hold", None)
        if hold is not None:
            self._borrowed, self.state, notes = hold(self.state)
            self.notes += notes
        # A check for each tensor of each call would take longer than a small program.
        self._held = self.state if isinstance(self.state, HeldState) else None
        # Calls run one after the other if they change state or globals.
        changes = self.state or has_globals
        self._one_by_one = threading.Lock() if changes else contextlib.nullcontext()
        self.seconds["load"] = time.perf_counter() - start
        if self.tolerances:
            given = ", ".join(f"{dtype} {value:g}" for dtype, value in self.tolerances.items())
            text = f"declared by {backend.name}, relative to the largest magnitude: {given}"
            self.notes += (Note("tolerance", text),)

    @contextlib.contextmanager
    def _compiling(self) -> Iterator[None]:
        """Measures the time of `compile`, excluding lowering inside the block."""
        before = self.seconds.setdefault("lower", 0.0)
        enter_stage("compile")
        start = time.perf_counter()
        yield
        lowering = self.seconds["lower"] - before
        self.seconds["compile"] = time.perf_counter() - start - lowering

    @property
    def signature(self) -> Signature:
        """The signature of the first entry point, which is usually the only one."""
        return next(iter(self.signatures.values()))

    async def call_async(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program once, asynchronously: `result = await run.call_async(…)`.

        The program runs in a thread of the event loop's default executor and does not block the
        loop. A call that has started runs to its end, even if the task is canceled.
        """
        return await asyncio.to_thread(self, *args, **kwargs)

    def _entry_point(self, entry: str) -> ExecutableEntryPoint:
        return ExecutableEntryPoint(self, entry)

    def _call(self, entry: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        signature = self.signatures[entry]
        values = signature.flatten_call(args, kwargs)
        return signature.unflatten_results(self.run_checked(entry, values))

    def run_checked(self, entry: str, values: Mapping[str, Any]) -> Sequence[Any]:
        """Runs an entry point on the leaves of a call, without checking them.

        Args:
            values: tensors and numbers by the name of the input, as `Signature.flatten_call`
                returns them.

        Returns:
            The results of the entry function in order, with those of kind `state`.

        Raises:
            Error: stage `run`.
        """
        signature = self.signatures[entry]
        self._borrowed.check()
        with self._one_by_one:
            operands = [
                _operand(values[argument.name])
                if argument.kind == "input"
                else self._state_operand(argument, fits)
                for argument, fits in self._passed[entry]
            ]
            results = self._invoke(entry, operands)
            for result, value in zip(signature.results, results, strict=True):
                if result.kind == "state":
                    self._keep_state(result, value)
        return results

    def _state_operand(self, argument: Argument, fits: Callable[[Any], bool]) -> Any:
        """Returns the operand for an argument of kind `state`.

        Args:
            fits: the quick check of the argument's value.
        """
        if self._held is not None:
            value = self._held.tensor_or_buffer(argument.name)
            if value is not None and not isinstance(value, torch.Tensor):
                return value
        else:
            value = self.state.get(argument.name)
        problem = (
            None
            if fits(value)
            else tensor_misfit(f"state[{argument.name!r}]", argument.spec, value)
        )
        if problem:
            raise Error(
                "run",
                problem,
                hint="assign a tensor of the same shape and dtype as the current one",
            )
        return row_major(value)

    def _keep_state(self, result: Result, value: Any) -> None:
        """Stores a result of kind `state`."""
        if self._held is not None:
            self._held.keep(result.name, value, result.spec.dtype)
        else:
            self.state[result.name] = value

    def _names(self, kind: str) -> list[str]:
        """Returns the distinct names of all arguments of a kind."""
        signatures = self.signatures.values()
        return list(dict.fromkeys(a.name for s in signatures for a in s.of_kind(kind)))

    def _invoke(self, entry: str, arguments: Sequence[Any]) -> Sequence[Any]:
        """Calls an entry function.

        Args:
            arguments: those of kind `input` and `state` in the IR's order, contiguous.

        Returns:
            The IR's results in order.
        """
        if self._passes_weights and self._weights:
            whole, places = self._arguments[entry]
            operands = whole.copy()
            for place, argument in zip(places, arguments, strict=True):
                operands[place] = argument
            arguments = operands
        return self._program[entry](*arguments)


@dataclass(frozen=True)
class ExecutableEntryPoint(EntryPoint):
    """One of an Executable's programs. It is called like an Executable of a single program."""

    executable: Executable

    @property
    def signature(self) -> Signature:
        """The signature, which maps calls to the entry function."""
        return self.executable.signatures[self.name]

    @property
    def runner(self) -> str:
        """The name of the runner."""
        return self.executable.runner

    @property
    def state(self) -> MutableMapping[str, torch.Tensor]:
        """The state that the entry points share."""
        return self.executable.state

    @property
    def notes(self) -> tuple[Note, ...]:
        """Choices for the program that the user did not ask for."""
        return self.executable.notes

    @property
    def tolerances(self) -> dict[str, float]:
        """The tolerances that the backend declares."""
        return self.executable.tolerances

    @property
    def numerics(self) -> Numerics:
        """How the backend rounds, as it declares."""
        return self.executable.numerics

    @property
    def seconds(self) -> dict[str, float]:
        """Time spent on all entry points together, by step."""
        return self.executable.seconds

    async def call_async(self, *args: Any, **kwargs: Any) -> Any:
        """See `Executable.call_async`."""
        return await asyncio.to_thread(self, *args, **kwargs)


def _operand(value: Any) -> Any:
    return row_major(value) if isinstance(value, torch.Tensor) else value
