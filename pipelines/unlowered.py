"""Finds the operators that a failed conversion has no lowering for.

The operation that a conversion reports is often only an operand, such as a constant, of the
operator that has no pattern. A conversion that fails as a whole also undoes all its changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.ir.lazy_dialects import func
from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer
from unmess.core.module.module import STRICT_SIZES

# Operations of the torch dialect that are only operands or structure of operators.
_CARRIERS = re.compile(
    r"torch\.(constant\..*|vtensor\.literal|prim\.List.*|prim\.Tuple.*|prim\.dtype|derefine"
    r"|tensor_static_info_cast|copy\..*)"
)

# Operators that are decomposed before the import, if their matrices have static sizes.
_LINEAR_ALGEBRA = re.compile(
    r"aten\.(_linalg_(det|eigh|slogdet|solve_ex|svd)"
    r"|linalg_(cholesky_ex|householder_product|inv_ex|ldl_.*|lstsq|lu.*|matrix_exp|pinv.*|qr"
    r"|solve_triangular)"
    r"|cholesky.*|geqrf|lu_unpack|ormqr|triangular_solve)"
)

Named = list[tuple[str, ir.Location]]


def without_lowering(
    text: str,
    lenient: str | None,
    before: ir.OpView,
    after: ir.Module | ir.OpView,
    *,
    only_unknown: bool,
) -> Named:
    """Returns the names in PyTorch of the operators without a lowering, in order, with locations.

    Args:
        text: the pass that failed.
        lenient: a form of the pass that keeps operators without a lowering, or None.
        before, after: the IR before and after the pass. `before` is changed.
        only_unknown: only return operators that the torch dialect does not have.
    """
    if lenient is None:
        return _named(_operators(after, only_unknown=only_unknown))
    whole = before.clone()
    try:
        PassManager.parse(f"builtin.module({lenient})").run(before.operation)
    except ir.MLIRError:
        found = _operators(whole, only_unknown=only_unknown)
        return _named(_that_fail_alone(text, found) or found)
    return _named(_operators(before, only_unknown=only_unknown))


def hint_for(names: Iterable[str]) -> str | None:
    """Returns a hint for operators without a lowering, by their names in PyTorch, or None."""
    if any(_LINEAR_ALGEBRA.fullmatch(name) for name in names):
        return (
            "linear algebra needs matrices of static sizes; only batch dimensions may be dynamic. "
            'fallback="eager" runs the operator in eager PyTorch'
        )
    return None


def _operators(module: ir.Module | ir.OpView, *, only_unknown: bool) -> list[ir.Operation]:
    def is_operator(operation: ir.Operation) -> bool:
        is_known = operation.name.startswith("torch.") and not _CARRIERS.fullmatch(operation.name)
        return operation.name == "torch.operator" or (is_known and not only_unknown)

    return find_operations(module, is_operator)


def _named(operators: list[ir.Operation]) -> Named:
    return [(_name(operator).removeprefix("torch."), operator.location) for operator in operators]


def _name(operator: ir.Operation) -> str:
    if operator.name == "torch.operator":
        return ir.StringAttr(operator.attributes["name"]).value
    return operator.name


def _that_fail_alone(text: str, operators: list[ir.Operation]) -> list[ir.Operation]:
    """Returns the operators on which a pass fails when each is alone in a program."""
    outcomes: dict[str, bool] = {}
    failing = []
    for operator in operators:
        if len(operator.regions):
            failing.append(operator)
            continue
        program = _program_of(operator)
        key = str(program)
        if key not in outcomes:
            outcomes[key] = _fails(text, program)
        if outcomes[key]:
            failing.append(operator)
    return failing


def _fails(text: str, program: ir.Module) -> bool:
    try:
        PassManager.parse(f"builtin.module({text})").run(program.operation)
    except ir.MLIRError:
        return True
    return False


def _program_of(operator: ir.Operation) -> ir.Module:
    """Returns a module with only this operator. Computed operands become arguments."""
    with ir.Location.unknown(operator.context):
        program = ir.Module.create()
        with ir.InsertionPoint(program.body):
            kinds = [value.type for value in _computed_operands(operator)]
            function = func.FuncOp("main", (kinds, [each.type for each in operator.results]))
            function.attributes[STRICT_SIZES] = ir.UnitAttr.get()
        block = function.add_entry_block()
        given = iter(block.arguments)
        with ir.InsertionPoint(block):
            copy = _copied(operator, given)
            func.ReturnOp(list(copy.results))
    return program


def _computed_operands(operation: ir.Operation) -> Iterator[ir.Value]:
    """Yields the operands of an operation, and of lists among them, that are not constants."""
    for value in operation.operands:
        if _is_carried(value):
            yield from _computed_operands(value.owner.operation)
        else:
            yield value


def _copied(operation: ir.Operation, given: Iterator[ir.Value]) -> ir.Operation:
    """Copies an operation and its constants. Takes the computed operands from `given`."""
    operands = [
        _copied(value.owner.operation, given).results[ir.OpResult(value).result_number]
        if _is_carried(value)
        else next(given)
        for value in operation.operands
    ]
    copy = operation.clone(ir.InsertionPoint.current)
    for index, operand in enumerate(operands):
        copy.operands[index] = operand
    return copy


def _is_carried(value: ir.Value) -> bool:
    operation = producer(value)
    return operation is not None and bool(_CARRIERS.fullmatch(operation.name))
