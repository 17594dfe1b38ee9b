"""The reference runner as a backend: compiles a program in process and calls it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from pipelines.backends.backend import BackendInput
from pipelines.reference.execution.compilation import MachineCode, machine_code
from pipelines.reference.execution.memory import ResultLayout, descriptor, scalar
from pipelines.reference.execution.workspaces import Workspaces
from pipelines.reference.runtime import Failure, Runtime
from unmess.core.module.module import Module
from unmess.core.options.target_options import TargetOptions
from unmess.core.signature.signature import Signature


@dataclass(frozen=True)
class Artifact:
    """Machine code in this process, the signatures of its entry functions, and the weights."""

    code: MachineCode
    signatures: Mapping[str, Signature]
    weights: Mapping[str, torch.Tensor]

    @property
    def has_globals(self) -> bool:
        """Whether it changes memory of its own when it runs."""
        return self.code.has_globals


@dataclass(frozen=True)
class ReferenceBackend:
    """MLIR's own passes and LLVM's JIT, in this process. Takes modules at any stage to `linalg`.

    Attributes:
        unchecked: omit the checks of divisors, indices and sizes.
    """

    name: str = "reference"
    unchecked: bool = False
    input = BackendInput(
        stage=None, weights="external", unpack_weights=True, several_entries=True, tensors="native"
    )

    def configured(self, target: TargetOptions | None, unchecked: bool) -> ReferenceBackend:
        """Returns the backend with these options. It compiles for this machine."""
        return replace(self, unchecked=unchecked)

    def compile(self, module: Module, folder: Path) -> Artifact:
        """See `Backend.compile`."""
        code = machine_code(module, module.seconds, unchecked=self.unchecked)
        return Artifact(code, module.entries, module.weights)

    def load(self, artifact: Artifact) -> dict[str, Callable[..., list[Any]]]:
        """See `Backend.load`."""
        return {
            entry: _Function(artifact.code, entry, signature, artifact.weights)
            for entry, signature in artifact.signatures.items()
        }

    def reproducer(self, module: Module) -> tuple[str, str]:
        """See `Backend.reproducer`. Lowers the module in place."""
        # Imported here, because cached programs do not need it.
        from pipelines.lower import lower

        if module.stage in ("raw", "torch"):
            module = lower(module, "linalg")
        to_linalg = f"--pipeline {module.stage}-to-linalg " if module.stage != "linalg" else ""
        command = f"unmess-opt {to_linalg}--pipeline {self.name} THIS_FILE"
        return command, module.text(locations=True)


def backend(name: str) -> ReferenceBackend:
    """Returns the reference runner."""
    return ReferenceBackend(name)


class _Function:
    """An entry function in memory. Its weights are bound: a call takes the other operands."""

    def __init__(
        self,
        code: MachineCode,
        entry: str,
        signature: Signature,
        weights: Mapping[str, torch.Tensor],
    ):
        # The reference keeps the code in memory.
        self._code = code.code
        self._address = code.code.address(entry)
        self._checks = code.checks
        self._workspace = code.workspaces.get(entry, 0)
        if self._workspace:
            Workspaces.reserve(self, self._workspace)
        self._layout = ResultLayout([result.spec for result in signature.results])
        # The addresses of the results, of each operand, and of the workspace.
        self._addresses = (ctypes.c_void_p * (2 + len(signature.arguments)))()
        # The positions of the operands that a call passes.
        self._passed: list[int] = []
        # The references keep the memory that the addresses point to.
        self._weights: list[tuple[torch.Tensor, ctypes.Array]] = []
        for position, argument in enumerate(signature.arguments, start=1):
            if argument.kind != "weight":
                self._passed.append(position)
                continue
            tensor = weights[argument.name]
            self._weights.append((tensor, descriptor(tensor)))
            self._addresses[position] = ctypes.addressof(self._weights[-1][1])

    def __call__(self, *operands: torch.Tensor | int | float | bool) -> list[Any]:
        structure = self._layout.allocate()
        # `alive` keeps the memory that the addresses point to until the call returns.
        alive = [
            descriptor(operand) if isinstance(operand, torch.Tensor) else scalar(operand)
            for operand in operands
        ]
        array = type(self._addresses).from_buffer_copy(self._addresses)
        array[0] = ctypes.addressof(structure)
        for position, each in zip(self._passed, alive, strict=True):
            array[position] = ctypes.addressof(each)
        # MLIR's packed interface takes the address of each argument. The only one is the array.
        cell = ctypes.c_void_p(ctypes.addressof(array))
        failure = self._run(array, ctypes.addressof(cell))
        if failure:
            raise self._checks[failure.number].error(failure.amount)
        return self._layout.take(structure)

    def _run(self, array: ctypes.Array, cell: int) -> Failure | None:
        run = Runtime.get().run
        if not self._workspace:
            return run(self._address, [cell])
        workspace = Workspaces.take(self._workspace)
        try:
            array[-1] = ctypes.addressof(workspace.descriptor)
            return run(self._address, [cell])
        finally:
            Workspaces.give_back(workspace)
