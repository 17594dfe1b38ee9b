"""Loaded programs, which are called with torch tensors, like the model itself."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from unmess.core.current_stage import enter_stage
from unmess.core.error import Error
from unmess.core.failure import only_errors
from unmess.core.module import Module
from unmess.core.note import Note
from unmess.core.signature import Argument, Result, Signature, tensor_misfit
from unmess.core.weights import (
    BorrowedMemory,
    check_specialized,
    check_weights,
    replaced_weights,
    row_major,
)


class Executable(ABC):
    """A program on a runner, or several programs that share weights and state.

    A single program is called like the model itself, `run(…)`. Several are called by the names of
    their entry points, `run.decode(…)` or `run["decode"](…)`.

    Any number of threads may call at once. Calls of a program that has state, or that draws random
    numbers, run one after the other.

    Attributes:
        name: the name of the model.
        runner: the name of the runner.
        signatures: the signature of each entry point by name.
        state: the tensors that the model mutates, by name, after the last call of any entry point.
            A call reads them and may write them in place. The Executable owns tensors that are
            assigned here. It never writes to the model's own tensors or to the arguments of a call.
        seconds: time spent, by step (`import`, `lower`, `compile`, `load`).
        notes: choices for the program that the user did not ask for.
        preset: the preset of IREE's compiler; None for a runner without presets.
    """

    runner: str
    notes: tuple[Note, ...] = ()
    preset: str | None = None

    def __init__(self, module: Module):
        self.name = module.name
        self.seconds = dict(module.seconds)
        self.signatures = dict(module.entries)
        check_weights(self.signatures, module.weights, "load")
        entries = getattr(module.program, "entries", {module.entry: module.program})
        programs = [program for program in entries.values() if program is not None]
        check_specialized(programs)
        self.notes = replaced_weights(programs)
        # Borrowed from the model. Only weights that compiled code cannot read directly are copied.
        self._weights = {name: row_major(module.weights[name]) for name in self._names("weight")}
        self._borrowed = BorrowedMemory(self._weights)
        self.state: MutableMapping[str, torch.Tensor] = {
            name: row_major(module.weights[name].detach().clone()) for name in self._names("state")
        }

    @contextlib.contextmanager
    def _compiling(self) -> Iterator[None]:
        """Measures the time of `compile`, excluding lowering inside the block."""
        before = self.seconds.setdefault("lower", 0.0)
        enter_stage("compile")
        start = time.perf_counter()
        yield
        lowering = self.seconds["lower"] - before
        self.seconds["compile"] = time.perf_counter() - start - lowering

    def _change_one_by_one(self, has_globals: bool) -> None:
        """Makes calls run one after the other if they change state or globals."""
        changes = self.state or has_globals
        self._one_by_one = threading.Lock() if changes else contextlib.nullcontext()

    @property
    def signature(self) -> Signature:
        """The signature of the first entry point, which is usually the only one."""
        return next(iter(self.signatures.values()))

    @only_errors("run")
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program once.

        Args: the same pytree, dtypes and shapes as at capture (a dynamic dimension may have any
            size in its range).

        Returns:
            The model's own pytree of new tensors (and numbers), which own their memory.

        Raises:
            Error: stage `run`, if the arguments do not fit or a check inside the program fails;
                stage `usage`, if there are several entry points.
        """
        if len(self.signatures) > 1:
            raise Error(
                "usage",
                f"{self.name} has several entry points: {', '.join(self.signatures)}",
                hint=f"call one of them by name: run.{next(iter(self.signatures))}(…)",
            )
        return next(iter(self))(*args, **kwargs)

    async def call_async(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program once, asynchronously: `result = await run.call_async(…)`.

        The program runs in a thread of the event loop's default executor and does not block the
        loop. A call that has started runs to its end, even if the task is cancelled.
        """
        return await asyncio.to_thread(self, *args, **kwargs)

    @only_errors()
    def __getitem__(self, entry: str) -> EntryPoint:
        """Returns the entry point with a name.

        Raises:
            Error: stage `usage`, if there is none.
        """
        if entry not in self.signatures:
            raise Error(
                "usage",
                f"{self.name} has no entry point {entry!r}",
                hint=f"it has {', '.join(self.signatures)}",
            )
        return EntryPoint(self, entry)

    def __getattr__(self, entry: str) -> EntryPoint:
        # Copying and unpickling look up special methods before `signatures` is set.
        if entry.startswith("_") or entry not in self.__dict__.get("signatures", ()):
            raise AttributeError(f"{type(self).__name__} has no attribute {entry!r}")
        return self[entry]

    def __iter__(self) -> Iterator[EntryPoint]:
        """Iterates over the entry points in order."""
        return map(self.__getitem__, self.signatures)

    def _call(self, entry: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        signature = self.signatures[entry]
        values = signature.flatten_call(args, kwargs)
        self._borrowed.check()
        with self._one_by_one:
            operands = []
            for argument in signature.arguments:
                if argument.kind == "input":
                    operands.append(_operand(values[argument.name]))
                elif argument.kind == "state":
                    operands.append(self._state_operand(argument))
            results = self._invoke(entry, operands)
            for result, value in zip(signature.results, results, strict=True):
                if result.kind == "state":
                    self._keep_state(result, value)
        return signature.unflatten_results(results)

    def _state_operand(self, argument: Argument) -> Any:
        """Returns the operand of `_invoke` for an argument of kind `state`."""
        value = self.state.get(argument.name)
        if problem := tensor_misfit(f"state[{argument.name!r}]", argument.spec, value):
            raise Error("run", problem, hint="assign a tensor like the one that was there")
        return row_major(value)

    def _keep_state(self, result: Result, value: Any) -> None:
        """Stores a result of `_invoke` of kind `state`."""
        self.state[result.name] = value

    def _names(self, kind: str) -> list[str]:
        """Returns the distinct names of all arguments of a kind."""
        signatures = self.signatures.values()
        return list(dict.fromkeys(a.name for s in signatures for a in s.of_kind(kind)))

    @abstractmethod
    def _invoke(
        self, entry: str, arguments: Sequence[torch.Tensor | int | float | bool]
    ) -> list[Any]:
        """Runs an entry function.

        Args:
            arguments: the arguments of kind `input` and `state` in the IR's order, contiguous.

        Returns:
            The IR's results in order.
        """


@dataclass(frozen=True)
class EntryPoint:
    """One of an Executable's programs. It is called like an Executable of a single program."""

    executable: Executable
    name: str

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
    def seconds(self) -> dict[str, float]:
        """Time spent on all entry points together, by step."""
        return self.executable.seconds

    @only_errors("run")
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """See `Executable.__call__`."""
        return self.executable._call(self.name, args, kwargs)

    async def call_async(self, *args: Any, **kwargs: Any) -> Any:
        """See `Executable.call_async`."""
        return await asyncio.to_thread(self, *args, **kwargs)


def _operand(value: Any) -> Any:
    return row_major(value) if isinstance(value, torch.Tensor) else value
