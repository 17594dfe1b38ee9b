"""Keeps the guarantee that no broadcast expands a dynamic size.

torch.export gives it for captured programs. The lowerings from the torch dialect remove its
attribute.
"""

from __future__ import annotations

from torch_mlir import ir

from unmess.core.module.module import STRICT_SIZES

# A copy of `STRICT_SIZES` for the steps after the torch dialect.
NOTED = "unmess.strict_sizes"


def note_strict_sizes(module: ir.Module) -> None:
    """Marks the functions in which no broadcast stretches a dynamic size."""
    with module.context:
        for function in module.body.operations:
            if STRICT_SIZES in function.attributes:
                function.attributes[NOTED] = ir.UnitAttr.get()
