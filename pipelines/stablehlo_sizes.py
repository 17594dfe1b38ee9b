"""What torch.export knows of dynamic sizes, said in StableHLO's own terms.

A broadcast of a dynamic size may stretch it (1 to n) or keep it. Lowerings to linalg, in IREE too,
have a form for either, but none for one that is decided when it runs. That no dynamic size is 1
where another operand's is not is known of a captured program, and lost on the way to StableHLO.
"""

from __future__ import annotations

from collections.abc import Container

from torch_mlir import ir

from pipelines.debugging import step
from pipelines.ir_modules import find_operations

_STRICT = "torch.assume_strict_symbolic_shapes"


def functions_with_strict_sizes(module: ir.Module) -> frozenset[str]:
    """The functions in which no broadcast stretches a dynamic size."""
    return frozenset(
        ir.StringAttr(function.attributes["sym_name"]).value
        for function in module.body.operations
        if _STRICT in function.attributes
    )


@step("stablehlo-strict-sizes")
def say_what_keeps_its_size(module: ir.Module, functions: Container[str]) -> None:
    """Says of each broadcast in these functions that it keeps its operand's dynamic sizes."""
    with module.context:
        for function in module.body.operations:
            name = function.attributes.get("sym_name")
            if name is not None and ir.StringAttr(name).value in functions:
                for broadcast in find_operations(function, _is_dynamic_broadcast):
                    _keep_sizes(broadcast)


def _is_dynamic_broadcast(operation: ir.Operation) -> bool:
    return operation.name == "stablehlo.dynamic_broadcast_in_dim"


def _keep_sizes(broadcast: ir.Operation) -> None:
    operand = ir.RankedTensorType(broadcast.operands[0].type)
    dynamic = [axis for axis in range(operand.rank) if operand.is_dynamic_dim(axis)]
    if dynamic:
        broadcast.attributes["known_nonexpanding_dimensions"] = ir.DenseI64ArrayAttr.get(dynamic)
