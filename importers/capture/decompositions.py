"""Which operators are taken apart before the import."""

from __future__ import annotations

import functools
import math
import warnings

import torch
from torch_mlir.extras.fx_decomp_util import get_decomposition_table

from importers.capture.local_decompositions import NotLocal, decompose_locally
from unmess.core.error import Error, first_line
from unmess.core.user_source import user_line


@functools.cache
def decomposition_table() -> dict:
    """Operator to decomposition: those that torch-mlir's lowerings expect to be gone."""
    return {**get_decomposition_table(), torch.ops.aten.gelu.default: _tanh_gelu}


def _tanh_gelu(x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """GELU by tanh, of floating-point `x`; the exact one is left as it is.

    torch-mlir's lowering has 0.797724 for √(2/π), which is 0.797885: results are off by up to 5e-5.
    """
    if approximate != "tanh":
        return NotImplemented
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide * wide)
    return (0.5 * wide * (1 + torch.tanh(inner))).to(x.dtype)


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
