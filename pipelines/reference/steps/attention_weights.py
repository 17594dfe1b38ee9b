"""Replaces subnormal attention weights by zero.

Some models add -100 to the scores of tokens that do not belong together, instead of minus infinity.
The softmax of such a score is a subnormal number, about 1e-44. Multiplying subnormal numbers is
slow on Intel's processors: for Swin, whose shifted windows have such scores, it took a third of the
time of a call.

The weights of a row have the sum 1. So a weight below 2**-126 changes a result by less than 2**-126
times the value that it multiplies.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.generics import is_reduction
from pipelines.ir.lazy_dialects import arith, linalg
from pipelines.ir.modules import find_operations
from pipelines.ir.scalars import is_elementwise
from pipelines.ir.tensor_ops import RESHAPES
from pipelines.ir.values import producer, terminator

_LEAST_NORMAL = 2.0**-126
_MOVES = (*RESHAPES, "linalg.transpose")


def clear_small_weights(module: ir.Module) -> None:
    """Replaces subnormal results of f32 softmaxes that only matrix products read, in place."""
    with module.context:
        for division in find_operations(module, _normalizes):
            if _is_only_multiplied(division.results[0]):
                _clear(division)


def _normalizes(operation: ir.Operation) -> bool:
    """Returns whether an operation divides exponentials by their sum."""
    if not is_elementwise(operation) or len(operation.operands) != 3:
        return False
    exponentials, total = (producer(each) for each in list(operation.operands)[:2])
    body = operation.regions[0].blocks[0]
    quotient = _yielded(operation)
    return (
        quotient is not None
        and quotient.name == "arith.divf"
        and list(quotient.operands) == list(body.arguments)[:2]
        and isinstance(quotient.result.type, ir.F32Type)
        and is_elementwise(exponentials)
        and _yields(exponentials, "math.exp")
        and total is not None
        and is_reduction(total)
        and _yields(total, "arith.addf")
        and total.operands[0] == operation.operands[0]
    )


def _yielded(generic: ir.Operation) -> ir.Operation | None:
    """Returns the operation that computes an element of the first result, if any."""
    return producer(terminator(generic.regions[0].blocks[0]).operands[0])


def _yields(generic: ir.Operation, name: str) -> bool:
    computation = _yielded(generic)
    return computation is not None and computation.name == name


def _is_only_multiplied(weights: ir.Value) -> bool:
    """Returns whether only matrix products read a value, also after moves and selections."""
    users = [use.owner.operation for use in weights.uses]
    return bool(users) and all(
        _is_only_multiplied(user.results[0])
        if user.name in _MOVES or _selects(user)
        else user.name.startswith("linalg.") and linalg.isa_contraction_op(user)
        for user in users
    )


def _selects(operation: ir.Operation) -> bool:
    """Returns whether an operation only chooses between elements of its operands."""
    return is_elementwise(operation) and all(
        each.operation.name in ("arith.select", "linalg.yield")
        for each in operation.regions[0].blocks[0].operations
    )


def _clear(division: ir.Operation) -> None:
    quotient = _yielded(division)
    exponential, total = quotient.operands
    with ir.InsertionPoint(quotient), division.location:
        least, zero = (arith.ConstantOp(total.type, each) for each in (_LEAST_NORMAL, 0.0))
        is_small = arith.CmpFOp(arith.CmpFPredicate.OLT, exponential, arith.MulFOp(total, least))
        quotient.operands[0] = arith.SelectOp(is_small, zero, exponential).result
