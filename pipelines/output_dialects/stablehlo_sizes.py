"""Keeps torch.export's guarantee about dynamic sizes in StableHLO.

A broadcast of a dynamic size may stretch it (1 to n) or keep it. Lowerings to linalg, also in IREE,
support both, but not a choice at run time. In captured programs, no dynamic size is 1 where another
operand's size is not. The lowering to StableHLO loses this fact.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from unmess.core.module.module import STRICT_SIZES

# A copy of `STRICT_SIZES` for the steps after the torch dialect.
_NOTED = "unmess.strict_sizes"


def note_strict_sizes(module: ir.Module) -> None:
    """Marks the functions in which no broadcast stretches a dynamic size."""
    with module.context:
        for function in module.body.operations:
            if STRICT_SIZES in function.attributes:
                function.attributes[_NOTED] = ir.UnitAttr.get()


def annotate_broadcasts(module: ir.Module) -> None:
    """Marks each broadcast in such functions as keeping its operand's dynamic sizes."""
    with module.context:
        for function in module.body.operations:
            if _NOTED in function.attributes:
                del function.attributes[_NOTED]
                for broadcast in find_operations(function, _is_dynamic_broadcast):
                    _keep_sizes(broadcast)


def _is_dynamic_broadcast(operation: ir.Operation) -> bool:
    return operation.name == "stablehlo.dynamic_broadcast_in_dim"


def _keep_sizes(broadcast: ir.Operation) -> None:
    operand = ir.RankedTensorType(broadcast.operands[0].type)
    dynamic = [axis for axis in range(operand.rank) if operand.is_dynamic_dim(axis)]
    if dynamic:
        broadcast.attributes["known_nonexpanding_dimensions"] = ir.DenseI64ArrayAttr.get(dynamic)
