"""Compiles and loads the entry points of a module on a backend, together or one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch

from pipelines.backends.backend import Backend, Function
from pipelines.backends.results import checked
from unmess.core.errors.error import Error, first_line
from unmess.core.module.module import Module
from unmess.core.processes.current_stage import enter_stage
from unmess.core.signature.signature import Signature


@runtime_checkable
class HeldState(Protocol):
    """State that a loaded program holds in memory of its own, by name.

    The object that `Backend.load` returns may have a method `hold(state)`. It returns the
    `BorrowedMemory` of the weights that calls read, the state (as a mapping of this type, or
    unchanged), and notes.
    """

    def tensor_or_buffer(self, name: str) -> Any:
        """Returns the state as a call takes it; None if the name is unknown."""

    def keep(self, name: str, value: Any, dtype: torch.dtype) -> None:
        """Stores the state that a call returned."""


def compile_parts(backend: Backend, module: Module, folder: Path) -> list[Any]:
    """Returns the artifact of a module, or one for each entry point. Does not change the module.

    Raises:
        Error: the stage that failed, up to `compile`.
    """
    if backend.input.stage is None:
        return [_compiled(backend, module, folder)]
    # Imported here, because it imports the passes, which cached programs do not need.
    from pipelines.backends.preparing import prepared, split

    parts = [module] if backend.input.several_entries else split(module)
    artifacts = []
    for number, part in enumerate(parts):
        own = folder / str(number) if len(parts) > 1 else folder
        own.mkdir(exist_ok=True)
        form = prepared(part, backend.input)
        # Lowering has recorded other stages. Attribute a crash of the backend to `compile`.
        enter_stage("compile")
        artifacts.append(_compiled(backend, form, own))
    return artifacts


def load_parts(
    backend: Backend, artifacts: Sequence[Any], signatures: Mapping[str, Signature]
) -> Mapping[str, Function]:
    """Returns the entry functions by name.

    Raises:
        Error: stage `load`.
    """
    with reported(backend, "load"):
        loaded = [backend.load(artifact) for artifact in artifacts]
    if backend.input.several_entries:
        functions = loaded[0]
        missing = signatures.keys() - set(functions if isinstance(functions, Mapping) else ())
        if missing:
            raise Error(
                "load",
                f"{backend.name} loads no entry function {min(missing)}",
                hint="load() must return the entry functions by name",
            )
    else:
        functions = dict(zip(signatures, loaded, strict=True))
    if backend.input.tensors == "native":
        return functions
    return {
        entry: checked(backend, function, signatures[entry])
        for entry, function in functions.items()
    }


def _compiled(backend: Backend, module: Module, folder: Path) -> Any:
    with reported(backend, "compile"):
        return backend.compile(module, folder)


class reported:
    """Converts exceptions of a backend's own code to an Error."""

    def __init__(self, backend: Backend, stage: str):
        self._backend = backend
        self._stage = stage

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if isinstance(problem, Exception) and not isinstance(problem, Error):
            raise Error(
                self._stage,
                f"{self._backend.name} fails: {first_line(problem)}",
                hint="the exception comes from the backend; --debug shows the traceback",
            ) from problem
