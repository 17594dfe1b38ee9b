"""Decomposes operators of a captured program before the import."""

from __future__ import annotations

import warnings
from collections.abc import Collection

import torch

from importers.capture.arguments import shared_memory
from importers.capture.higher_order import inline_flex_attention, simpler_operators
from importers.capture.local_decompositions import NotLocal, decompose_locally
from importers.capture.stack_traces import full_stack_traces
from importers.decompositions import decomposition_table, recording
from importers.decompositions.tracing import fast_overrides, tracing, without_effects
from unmess.core.errors.error import Error, first_line
from unmess.core.errors.user_source import user_line
from unmess.core.program.note import Note

# Parts of PyTorch's error messages for a program that writes to an input which shares memory with
# another input.
_OF_SHARED_MEMORY = ("expected compiled_fn to be GraphModule", "size_bytes_is_heap_allocated_")


def decompose(
    exported: torch.export.ExportedProgram, keep_ops: Collection[str] = ()
) -> tuple[torch.export.ExportedProgram, list[Note]]:
    """Decomposes the operators of `decomposition_table` and makes the program functional.

    Args:
        keep_ops: operators to keep, such as `aten.softmax.int` or `aten.gelu`.

    Returns:
        The program, and a note for each decomposition by unmess or the user that was used.

    Raises:
        Error: stage `capture`.
    """
    with warnings.catch_warnings():
        # PyTorch causes this warning when it copies pytree specs.
        warnings.filterwarnings("ignore", category=FutureWarning, module="copyreg")
        try:
            with recording() as used:
                table = decomposition_table(keep_ops)
                return decompose_locally(exported, table, keep_ops), list(used.values())
        except NotLocal:
            with recording() as used:
                table = decomposition_table(keep_ops)
                return _decompose_whole(exported, table), list(used.values())
        except Exception as problem:
            raise _does_not_decompose(problem) from problem


def prepare() -> None:
    """Makes the table and registers the decompositions of composite operators with PyTorch.

    Otherwise the first capture of a process does it, which takes a third of a second. A process
    that is forked for each model does it before the forks.
    """
    with tracing(torch.fx.Graph(), decomposition_table()):
        pass


def _decompose_whole(
    exported: torch.export.ExportedProgram, table: dict
) -> torch.export.ExportedProgram:
    """Decomposes with PyTorch, which traces the program again and removes entries of `table`."""
    try:
        with simpler_operators(), fast_overrides(), without_effects(), full_stack_traces(__file__):
            return inline_flex_attention(exported).run_decompositions(table)
    except Error:
        raise
    except Exception as problem:
        raise _does_not_decompose(problem) from problem


def _does_not_decompose(problem: Exception) -> Error:
    if "SparseTensorImpl" in str(problem) or "SparseCsrTensorImpl" in str(problem):
        return Error(
            "capture",
            "the model creates a sparse tensor; programs support dense tensors only",
            where=user_line(problem),
            hint="keep the tensor dense, or convert it before the call (Tensor.to_dense)",
        )
    if any(text in str(problem) for text in _OF_SHARED_MEMORY):
        return shared_memory("an argument or a buffer that shares memory with another one")
    return Error(
        "capture",
        f"PyTorch cannot decompose the exported program: {first_line(problem)}",
        where=user_line(problem),
        hint="`unmess check --debug` shows PyTorch's traceback",
    )
