"""Compiles a program in process and calls it."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

import torch

from pipelines.executable import Executable
from pipelines.reference.execution.compilation import machine_code
from pipelines.reference.execution.memory import ResultLayout, descriptor, scalar
from pipelines.reference.execution.runtime import Runtime
from unmess.core.current_stage import enter_stage
from unmess.core.module import Module


class ReferenceExecutable(Executable):
    """A program that MLIR's own passes and LLVM's JIT compile in this process."""

    runner = "reference"

    def __init__(self, module: Module, *, unchecked: bool = False):
        """Compiles `module`, which may be at any stage up to `linalg`. Does not change it.

        Args:
            unchecked: omit the checks of divisors, indices and sizes.

        Raises:
            Error: with the stage that failed, up to `compile`.
        """
        super().__init__(module)
        with self._compiling():
            made = machine_code(module, self.seconds, unchecked=unchecked)
            self._functions = {entry: made.code.address(entry) for entry in module.entries}
        self._code, self._checks = made.code, made.checks
        self._change_one_by_one(made.has_globals)
        enter_stage("load")
        start = time.perf_counter()
        self._layouts = {
            entry: ResultLayout([result.spec for result in signature.results])
            for entry, signature in self.signatures.items()
        }
        self.seconds["load"] = time.perf_counter() - start

    def _invoke(
        self, entry: str, arguments: Sequence[torch.Tensor | int | float | bool]
    ) -> list[Any]:
        signature, layout = self.signatures[entry], self._layouts[entry]
        given = iter(arguments)
        operands = [
            self._weights[argument.name] if argument.kind == "weight" else next(given)
            for argument in signature.arguments
        ]
        structure = layout.allocate()
        # `alive` keeps the memory that the addresses point to until the call returns.
        alive = [descriptor(o) if isinstance(o, torch.Tensor) else scalar(o) for o in operands]
        places = map(ctypes.addressof, (structure, *alive))
        array = (ctypes.c_void_p * (1 + len(alive)))(*places)
        # MLIR's packed interface takes the address of each argument. The only one is the array.
        cell = ctypes.c_void_p(ctypes.addressof(array))
        failure = Runtime.get().run(self._functions[entry], [ctypes.addressof(cell)])
        if failure:
            raise self._checks[failure.number].error(failure.amount)
        return layout.take(structure)
