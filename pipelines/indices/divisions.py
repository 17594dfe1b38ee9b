"""Makes integer divisions safe, which crash the process if the divisor is 0."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.indices.bodies import Body, check_body
from pipelines.indices.loops import enclosing_generic
from pipelines.indices.values import compare, number
from pipelines.ir.lazy_dialects import arith, cf
from pipelines.ir.modules import find_operations
from pipelines.ir.values import constant_integer
from pipelines.pipeline import Step

_SIGNED = ("arith.divsi", "arith.floordivsi", "arith.ceildivsi", "arith.remsi")
_UNSIGNED = ("arith.divui", "arith.remui", "arith.ceildivui")
_MESSAGE = "ZeroDivisionError"


def check_divisions(module: ir.Module, *, unchecked: bool = False) -> None:
    """Makes divisions of integers at stage `linalg` safe, in place.

    A divisor of 0 becomes 1, and an assertion on the host ends the call. The lowest integer divided
    by -1 wraps around, as in eager.

    Args:
        unchecked: omit the assertions.
    """
    bodies: dict[ir.Operation, Body] = {}
    found = find_operations(module, lambda each: each.name in (*_SIGNED, *_UNSIGNED))
    with module.context:
        for operation in filter(_may_fail, found):
            with ir.InsertionPoint(operation), operation.location:
                is_number = _make_safe(operation)
                if unchecked:
                    continue
                assertion = cf.AssertOp(is_number, _MESSAGE).operation
            generic = enclosing_generic(operation)
            if generic is not None:
                bodies.setdefault(generic, Body(generic)).assertions.append(assertion)
        for body in bodies.values():
            check_body(body)


def _may_fail(operation: ir.Operation) -> bool:
    divisor = operation.operands[1]
    # Divisions of type index compute sizes and need no check.
    return isinstance(divisor.type, ir.IntegerType) and constant_integer(divisor) in (None, 0, -1)


def _make_safe(operation: ir.Operation) -> ir.Value:
    """Divides by 1 instead of 0, and instead of -1 on overflow; returns whether it is not 0."""
    dividend, divisor = operation.operands
    kind = divisor.type
    is_number = compare(arith.CmpIPredicate.ne, divisor, number(0, kind))
    safe = arith.SelectOp(is_number, divisor, number(1, kind)).result
    if operation.name in _SIGNED:
        overflows = arith.AndIOp(
            compare(arith.CmpIPredicate.eq, divisor, number(-1, kind)),
            compare(arith.CmpIPredicate.eq, dividend, number(-(1 << kind.width - 1), kind)),
        ).result
        safe = arith.SelectOp(overflows, number(1, kind), safe).result
    operation.operands[1] = safe
    return is_number


CHECK_DIVISIONS = Step(
    "check-divisions",
    "check divisors of integers: a division by 0 would end the process",
    check_divisions,
)
