"""Registers every dialect that IR can contain at any stage."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo as stablehlo_d
from torch_mlir._mlir_libs import _torchMlir as torch_d
from torch_mlir.passmanager import PassManager

stablehlo_d.register_stablehlo_passes()

# tm_tensor, chlo and vhlo are registered by the passes that produce them.
_LOADING = (
    "builtin.module(func.func(convert-torch-to-tmtensor,convert-torch-to-stablehlo),"
    "stablehlo-legalize-to-vhlo)"
)


def context_of_all() -> ir.Context:
    """Returns a context that can parse IR of any stage."""
    context = ir.Context()
    torch_d.register_dialect(context)
    stablehlo_d.register_dialect(context, load=True)
    load_unregistered(context)
    return context


def load_unregistered(context: ir.Context) -> None:
    """Loads tm_tensor, chlo and vhlo, so that their operations can be created."""
    with context, ir.Location.unknown():
        PassManager.parse(_LOADING).run(ir.Module.create().operation)
