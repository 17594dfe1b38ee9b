"""Every dialect that IR may have at a stage."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo as stablehlo_d
from torch_mlir.dialects import torch as torch_d
from torch_mlir.passmanager import PassManager


def context_of_all() -> ir.Context:
    """A context that reads IR at any stage."""
    context = ir.Context()
    torch_d.register_dialect(context)
    stablehlo_d.register_dialect(context, load=True)
    # torch-mlir registers tm_tensor with the passes that make it, not with its dialects.
    with context, ir.Location.unknown():
        empty = ir.Module.create()
        PassManager.parse("builtin.module(func.func(convert-torch-to-tmtensor))").run(
            empty.operation
        )
    return context
