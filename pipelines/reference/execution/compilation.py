"""From linalg-on-tensors to code in this process, by way of the cache where it can be."""

from __future__ import annotations

import ctypes
import os
from typing import Protocol

import torch
from torch_mlir.execution_engine import ExecutionEngine

from pipelines.debugging import is_debugging
from pipelines.ir_modules import copy_module
from pipelines.reference.execution.object_cache import Compiled, compiled_key, find, keep
from pipelines.reference.execution.object_code import ObjectCode, Unloadable
from pipelines.reference.execution.runtime import Runtime
from pipelines.reference.lowering import lower_to_llvm
from pipelines.reference.steps.assertions import Assertions, Check
from unmess.core.error import Error, first_line
from unmess.core.module import Module


class Code(Protocol):
    """Machine code in memory, which is given back when the object is dropped."""

    def address(self, entry: str) -> int:
        """Of an entry function, which takes the addresses of its operands in an array."""


def machine_code(module: Module) -> tuple[Code, tuple[Check, ...]]:
    """The code of a module at stage `linalg`, whose IR is left as it is, and its checks by number.

    Raises:
        Error: stage `compile`.
    """
    key = None if is_debugging() else compiled_key(module)
    if key and (compiled := find(key)):
        try:
            return _Loaded(compiled), compiled.checks
        except Unloadable:
            # It was when it was kept: a library that it uses is not in this process.
            pass
    assertions = Assertions()
    engine = _compile(module, assertions)
    checks = tuple(assertions.checks)
    try:
        compiled = Compiled(_object_file(engine), checks)
        code = _Loaded(compiled)
    except Unloadable:
        return _Jitted(engine), checks
    if key:
        keep(key, compiled)
    return code, checks


def _compile(module: Module, assertions: Assertions) -> ExecutionEngine:
    lowered = copy_module(module.ir)
    threads = torch.get_num_threads()
    level = lower_to_llvm(lowered, module.name, assertions, module.entries, threads)
    try:
        engine = ExecutionEngine(lowered, opt_level=level)
        for symbol, address in Runtime.get().symbols.items():
            engine.raw_register_runtime(symbol, ctypes.c_void_p(address))
        # LLVM makes the code when it is first asked for.
        for entry in module.entries:
            engine.raw_lookup(entry)
    except RuntimeError as problem:
        raise Error(
            "compile",
            f"LLVM does not compile the module: {first_line(problem)}",
            hint="try --on iree-cpu, and report this with the model",
        ) from problem
    return engine


def _object_file(engine: ExecutionEngine) -> bytes:
    """What the JIT has compiled, as a file."""
    if not hasattr(os, "memfd_create"):
        raise Unloadable("no files in memory")
    # LLVM ends the process where a file cannot be written; in memory it always can.
    with open(os.memfd_create("object"), "rb") as file:
        engine.dump_to_object_file(f"/proc/self/fd/{file.fileno()}")
        return file.read()


class _Loaded:
    """Code from an object file. The JIT, its copy of the code, and LLVM's IR are not kept."""

    def __init__(self, compiled: Compiled):
        self._code = ObjectCode(compiled.object_code, Runtime.get().symbols)

    def address(self, entry: str) -> int:
        return self._code.address(f"_mlir_{entry}")


class _Jitted:
    """Code where the JIT has put it, on processors whose object files are not loaded here."""

    def __init__(self, engine: ExecutionEngine):
        self._engine = engine

    def address(self, entry: str) -> int:
        return self._engine.raw_lookup(entry)
