"""Compiles linalg-on-tensors in process and calls it."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

import torch

from pipelines.executable import Executable
from pipelines.reference.compilation import machine_code
from pipelines.reference.memory import ResultLayout, descriptor, scalar
from pipelines.reference.runtime import Runtime
from unmess.core.module import Module
from unmess.core.progress import enter_stage


class ReferenceExecutable(Executable):
    """A program compiled by MLIR's own passes and LLVM's JIT, in this process."""

    runner = "reference"

    def __init__(self, module: Module):
        """Compiles `module`, which must be at stage `linalg`; its IR is left as it is.

        Raises:
            Error: stage `compile`.
        """
        super().__init__(module)
        enter_stage("compile")
        start = time.perf_counter()
        self._code, self._checks = machine_code(module)
        self._functions = {entry: self._code.address(entry) for entry in module.entries}
        self.seconds["compile"] = time.perf_counter() - start
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
        # The packed form takes the address of each operand; a tensor's operand is the address of
        # its descriptor. `alive` keeps what the addresses point to until the call is over.
        alive: list[Any] = []
        packed: list[int] = []
        for operand in operands:
            if isinstance(operand, torch.Tensor):
                packed.append(_cell(ctypes.addressof(_kept(alive, descriptor(operand))), alive))
            else:
                packed.append(ctypes.addressof(_kept(alive, scalar(operand))))
        if layout.is_by_value:
            packed.append(ctypes.addressof(structure))
        elif signature.results:
            packed.insert(0, _cell(ctypes.addressof(structure), alive))
        failure = Runtime.get().run(self._functions[entry], packed)
        if failure:
            raise self._checks[failure.number].error(failure.amount)
        return layout.take(structure)


def _kept(alive: list[Any], value: Any) -> Any:
    alive.append(value)
    return value


def _cell(address: int, alive: list[Any]) -> int:
    """The address of a new cell that holds `address`."""
    return ctypes.addressof(_kept(alive, ctypes.c_void_p(address)))
