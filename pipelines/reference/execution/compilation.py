"""Compiles a program to machine code in this process, or takes the code from the cache."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import torch
from torch_mlir.execution_engine import ExecutionEngine

from pipelines.compiled import Compiled, cache_key, find, has_globals, keep, lowered
from pipelines.reference.execution.object_code import ObjectCode, Unloadable
from pipelines.reference.runtime import Runtime
from pipelines.reference.tile_registers import allow_tiles
from unmess.core.errors.check import Check
from unmess.core.errors.error import Error, first_line
from unmess.core.module.module import Module
from unmess.core.options.processor import processor
from unmess.core.processes.current_stage import enter_stage

if TYPE_CHECKING:
    from pipelines.reference.steps.assertions import Assertions


class Code(Protocol):
    """Machine code in memory, which is freed with the object."""

    def address(self, entry: str) -> int:
        """Returns the address of an entry function, which takes an array of operand addresses."""


@dataclass(frozen=True)
class MachineCode:
    """A program in this process.

    The other attributes are the same as in `Compiled`.
    """

    code: Code
    checks: tuple[Check, ...]
    has_globals: bool
    workspaces: Mapping[str, int]


def machine_code(
    module: Module, seconds: dict[str, float], *, unchecked: bool = False
) -> MachineCode:
    """Returns the code of a module. Does not change its IR.

    Args:
        seconds: the lowering time is added to `seconds["lower"]`.
        unchecked: omit the checks of divisors, indices and sizes.

    Raises:
        Error: with the stage that failed, up to `compile`.
    """
    tiles = f"tiles={allow_tiles()}"
    target = (processor(), torch.get_num_threads(), f"unchecked={unchecked}", tiles)
    key = cache_key(module, "reference", ("torch-mlir",), target)
    if compiled := find(key):
        try:
            return _with_data_of(compiled, _Loaded(compiled))
        except Unloadable:
            # It loaded when it was stored. This process lacks a library that it uses.
            pass
    # Imported here, because cached programs do not need it.
    from pipelines.reference.steps.assertions import Assertions

    module = lowered(module, seconds, unchecked)
    enter_stage("compile")
    changes = has_globals(module)
    assertions = Assertions()
    engine, workspaces = _compile(module, assertions, unchecked)
    compiled = Compiled(b"", changes, tuple(assertions.checks), workspaces=workspaces)
    try:
        compiled = replace(compiled, code=_object_file(engine))
        code = _Loaded(compiled)
    except Unloadable:
        return _with_data_of(compiled, _Jitted(engine))
    keep(key, compiled, "reference", module.name)
    return _with_data_of(compiled, code)


def _with_data_of(compiled: Compiled, code: Code) -> MachineCode:
    return MachineCode(code, compiled.checks, compiled.has_globals, compiled.workspaces)


def _compile(
    module: Module, assertions: Assertions, unchecked: bool
) -> tuple[ExecutionEngine, dict[str, int]]:
    """Compiles a module at stage `linalg`. Lowers its IR in place.

    Returns:
        The code, and the size of the workspace of each entry function.
    """
    # Imported here, because cached programs do not need it.
    from pipelines.reference.pipeline import lower_to_llvm

    threads = torch.get_num_threads()
    done = lower_to_llvm(module.ir, module.name, assertions, module.entries, threads, unchecked)
    try:
        engine = ExecutionEngine(module.ir, opt_level=done.level)
        for symbol, address in Runtime.get().symbols.items():
            engine.raw_register_runtime(symbol, ctypes.c_void_p(address))
        # LLVM compiles a function at its first lookup.
        for entry in module.entries:
            engine.raw_lookup(entry)
    except RuntimeError as problem:
        raise Error(
            "compile",
            f"LLVM cannot compile the module: {first_line(problem)}",
            hint="try --on iree-cpu, and report this bug with the model",
        ) from problem
    return engine, done.workspaces


def _object_file(engine: ExecutionEngine) -> bytes:
    """Returns the object file of the code that the JIT has compiled."""
    if not hasattr(os, "memfd_create"):
        raise Unloadable("the system does not support files in memory")
    # LLVM ends the process if it cannot write a file. Writes to a file in memory do not fail.
    with open(os.memfd_create("object"), "rb") as file:
        engine.dump_to_object_file(f"/proc/self/fd/{file.fileno()}")
        return file.read()


class _Loaded:
    """Code from an object file. It does not keep the JIT, its copy of the code, or LLVM's IR."""

    def __init__(self, compiled: Compiled):
        self._code = ObjectCode(compiled.code, Runtime.get().symbols)

    def address(self, entry: str) -> int:
        return self._code.address(f"_mlir_{entry}")


class _Jitted:
    """Code in the JIT's memory, for processors whose object files `ObjectCode` cannot load."""

    def __init__(self, engine: ExecutionEngine):
        self._engine = engine

    def address(self, entry: str) -> int:
        return self._engine.raw_lookup(entry)
