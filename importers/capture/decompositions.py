"""Decomposes operators of a captured program before the import."""

from __future__ import annotations

import warnings
from collections.abc import Collection

import torch

from importers.capture.flex_attention import inline_flex_attention
from importers.capture.higher_order import simpler_operators
from importers.capture.local_decompositions import NotLocal, decompose_locally
from importers.decompositions import decomposition_table
from unmess.core.error import Error, first_line
from unmess.core.note import Note
from unmess.core.user_source import user_line


def decompose(
    exported: torch.export.ExportedProgram, whole: Collection[str] = ()
) -> tuple[torch.export.ExportedProgram, list[Note]]:
    """Decomposes the operators of `decomposition_table` and makes the program functional.

    Args:
        whole: operators to keep, such as `aten.softmax.int` or `aten.gelu`.

    Returns:
        The program, and a note for each decomposition by unmess or the user that was used.

    Raises:
        Error: stage `capture`.
    """
    with warnings.catch_warnings():
        # PyTorch causes this warning when it copies pytree specs.
        warnings.filterwarnings("ignore", category=FutureWarning, module="copyreg")
        used: dict[str, Note] = {}
        try:
            table = decomposition_table(used, whole)
            return decompose_locally(exported, table, whole), list(used.values())
        except NotLocal:
            used.clear()
            return _decompose_whole(exported, decomposition_table(used, whole)), list(used.values())
        except Exception as problem:
            raise _does_not_decompose(problem) from problem


def _decompose_whole(
    exported: torch.export.ExportedProgram, table: dict
) -> torch.export.ExportedProgram:
    """Decomposes with PyTorch, which traces the program again and removes entries of `table`."""
    try:
        with simpler_operators():
            return inline_flex_attention(exported).run_decompositions(table)
    except Error:
        raise
    except Exception as problem:
        raise _does_not_decompose(problem) from problem


def _does_not_decompose(problem: Exception) -> Error:
    if "SparseTensorImpl" in str(problem) or "SparseCsrTensorImpl" in str(problem):
        return Error(
            "capture",
            "the model makes a sparse tensor, and programs have dense ones only",
            where=user_line(problem),
            hint="leave the tensor dense, or make it dense (Tensor.to_dense) before the call",
        )
    return Error(
        "capture",
        f"the exported program does not decompose: {first_line(problem)}",
        where=user_line(problem),
        hint="`unmess check --debug` shows PyTorch's own traceback",
    )
