"""Takes a small program through the stages of a check, for a parent before it forks workers.

The first program of a process loads dialects and fills caches of PyTorch and MLIR, which takes most
of a second. Forks share the result.
"""

from __future__ import annotations

import functools

import torch

import unmess
from pipelines.compiled import lowered
from unmess.core.module.module import Module
from unmess.core.program.program import Program

_SIZE = torch.export.Dim("size", max=8)


def _function(x: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.sin() @ x.mT, -1)[indices].cumsum(0).to(torch.bfloat16)


@functools.cache
def _captured() -> Program:
    args = (torch.ones(4, 3), torch.tensor([1, 0]))
    return unmess.capture(_function, args, dynamic_shapes=({0: _SIZE}, None))


def capture() -> None:
    """Captures the program, once per process."""
    _captured()


@functools.cache
def lower() -> None:
    """Lowers the program to linalg with checks of its indices, once per process."""
    _in_linalg()


def _in_linalg() -> Module:
    return lowered(_captured().to_module(), {}, unchecked=False)


@functools.cache
def compile_on_reference() -> None:
    """Lowers the program to LLVM's dialect and loads the reference runtime, once per process.

    The program itself is not compiled, since its code would be stored in the user's cache.
    """
    from pipelines.reference.pipeline import lower_to_llvm
    from pipelines.reference.runtime import Runtime
    from pipelines.reference.steps.assertions import Assertions

    module = _in_linalg()
    lower_to_llvm(module.ir, module.name, Assertions(), module.entries)
    Runtime.get()
