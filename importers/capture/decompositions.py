"""Which operators are taken apart before the import."""

from __future__ import annotations

import functools
import warnings

import torch
from torch_mlir.extras.fx_decomp_util import get_decomposition_table

from importers.capture.local_decompositions import NotLocal, decompose_locally
from unmess.core.error import Error, first_line
from unmess.core.user_source import user_line


@functools.cache
def decomposition_table() -> dict:
    """Operator to decomposition: those that torch-mlir's lowerings expect to be gone."""
    return get_decomposition_table()


def decompose(exported: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """A functional program with the operators of `decomposition_table` taken apart.

    Raises:
        Error: stage `capture`.
    """
    with warnings.catch_warnings():
        # PyTorch's own copying of pytree specs.
        warnings.filterwarnings("ignore", category=FutureWarning, module="copyreg")
        try:
            return decompose_locally(exported, decomposition_table())
        except NotLocal:
            return _decompose_whole(exported)


def _decompose_whole(exported: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """PyTorch's own way, which traces the program again."""
    # The table is copied, because run_decompositions takes entries out of the one it is given.
    try:
        return exported.run_decompositions(dict(decomposition_table()))
    except Exception as problem:
        raise Error(
            "capture",
            f"the exported program does not decompose: {first_line(problem)}",
            where=user_line(problem),
            hint="`unmess check --debug` shows PyTorch's own traceback",
        ) from problem
