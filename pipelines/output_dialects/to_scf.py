"""Lowers `stablehlo.while`, `if` and `case`, and `tosa.cond_if`, to scf."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir.generics import inline
from pipelines.ir.lazy_dialects import arith, scf, tensor
from pipelines.ir.modules import find_operations, replace_operations
from pipelines.ir.values import terminator


def to_scf(module: ir.Module) -> None:
    """Lowers the control flow of a module in place. Other operations in its regions stay."""
    with module.context:
        found = find_operations(module, lambda each: each.name in _REWRITES)
        replace_operations(found, lambda operation: _REWRITES[operation.name](operation))


def _while(loop: ir.Operation) -> list[ir.Value]:
    condition, body = (region.blocks[0] for region in loop.regions)
    new = scf.WhileOp([result.type for result in loop.results], list(loop.operands))
    condition.append_to(new.before)
    body.append_to(new.after)
    returned = terminator(condition)
    with ir.InsertionPoint(returned), returned.location:
        goes_on = tensor.ExtractOp(returned.operands[0], []).result
        scf.ConditionOp(goes_on, list(condition.arguments))
    returned.erase()
    _yield(body)
    return list(new.results)


def _if(branch: ir.Operation) -> list[ir.Value]:
    condition = tensor.ExtractOp(branch.operands[0], []).result
    then, otherwise = (region.blocks[0] for region in branch.regions)
    # The regions of TOSA read their own arguments, and those of StableHLO read outer values.
    values = list(branch.operands)[1:]
    return _branch(
        condition, _kinds(branch), lambda: inline(then, values), lambda: inline(otherwise, values)
    )


def _case(switch: ir.Operation) -> list[ir.Value]:
    """Lowers `stablehlo.case` to a chain of `scf.if`.

    Bufferization confuses the results of `scf.index_switch`. An index out of range selects the last
    branch.
    """
    number = tensor.ExtractOp(switch.operands[0], []).result

    def choose(first: int) -> list[ir.Value]:
        block = switch.regions[first].blocks[0]
        if first == len(switch.regions) - 1:
            return inline(block, [])
        own = arith.ConstantOp(number.type, ir.IntegerAttr.get(number.type, first)).result
        is_it = arith.CmpIOp(arith.CmpIPredicate.eq, number, own).result
        kinds = _kinds(switch)
        return _branch(is_it, kinds, lambda: inline(block, []), lambda: choose(first + 1))

    return choose(0)


def _kinds(operation: ir.Operation) -> list[ir.Type]:
    return [result.type for result in operation.results]


def _branch(
    condition: ir.Value,
    kinds: list[ir.Type],
    then: Callable[[], list[ir.Value]],
    otherwise: Callable[[], list[ir.Value]],
) -> list[ir.Value]:
    branch = scf.IfOp(condition, kinds, has_else=True)
    for block, make in ((branch.then_block, then), (branch.else_block, otherwise)):
        with ir.InsertionPoint(block):
            scf.YieldOp(make())
    return list(branch.results)


def _yield(block: ir.Block) -> None:
    returned = terminator(block)
    with ir.InsertionPoint(returned), returned.location:
        scf.YieldOp(list(returned.operands))
    returned.erase()


_REWRITES = {
    "stablehlo.while": _while,
    "stablehlo.if": _if,
    "stablehlo.case": _case,
    "tosa.cond_if": _if,
}
