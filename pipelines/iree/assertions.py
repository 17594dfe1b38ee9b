"""Joins assertions so that IREE's host reads one flag, and adds source lines to their messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch_mlir import ir

from pipelines.indices.values import compare, number
from pipelines.ir.generics import generic
from pipelines.ir.lazy_dialects import arith, cf, tensor
from pipelines.ir.modules import find_operations
from pipelines.ir.tensor_ops import empty
from pipelines.ir.values import constant_integer, producer_named, terminator
from pipelines.pipeline import Step
from unmess.core.errors.check import Check
from unmess.core.errors.user_source import enclosing_line

# The maximum number of flags that one operation combines. Devices limit the number of buffers that
# an operation may read.
_TOGETHER = 8


def join_assertions(module: ir.Module) -> None:
    """Joins the assertions of each block that test flags on the device, in place.

    Each read of a flag makes the host wait for the device. So the device computes the number of
    the first flag that is set, and the host reads only this number, at the end of the block.
    """
    blocks: dict[ir.Block, list[tuple[ir.Operation, ir.Value]]] = {}
    with module.context:
        for assertion in find_operations(module, lambda each: each.name == "cf.assert"):
            flag = _flag(assertion)
            if flag is not None:
                _in(blocks, assertion.block).append((assertion, flag))
        for block, found in blocks.items():
            _join(block, found)


def add_source_lines(module: ir.Module) -> None:
    """Puts the user's source line into the message of each assertion, in place."""
    with module.context:
        for assertion in find_operations(module, lambda each: each.name == "cf.assert"):
            message = ir.StringAttr(assertion.attributes["msg"]).value
            check = Check.at(message, enclosing_line(assertion))
            assertion.attributes["msg"] = ir.StringAttr.get(check.spelled())


def _in(blocks: dict[ir.Block, list], block: ir.Block) -> list:
    # An `ir.Block` has equality, but no matching hash.
    for known, found in blocks.items():
        if known == block:
            return found
    return blocks.setdefault(block, [])


def _flag(assertion: ir.Operation) -> ir.Value | None:
    """Returns the `tensor<i32>` that an assertion compares with 0; None for other assertions."""
    comparison = producer_named(assertion.operands[0], "arith.cmpi")
    if comparison is None:
        return None
    if ir.IntegerAttr(comparison.attributes["predicate"]).value != arith.CmpIPredicate.eq:
        return None
    element = producer_named(comparison.operands[0], "tensor.extract")
    if constant_integer(comparison.operands[1]) != 0 or element is None:
        return None
    flag = element.operands[0]
    return flag if str(flag.type) == "tensor<i32>" else None


def _join(block: ir.Block, found: Sequence[tuple[ir.Operation, ir.Value]]) -> None:
    first: dict[ir.Value, ir.Operation] = {}
    for assertion, flag in found:
        first.setdefault(flag, assertion)
    end = terminator(block)
    with ir.InsertionPoint(end), end.location:
        (joined,) = _joined([(flag, number) for number, flag in enumerate(first, 1)])
        code = tensor.ExtractOp(joined[0], []).result
        for number_, assertion in enumerate(first.values(), 1):
            with assertion.location:
                holds = compare(arith.CmpIPredicate.ne, code, number(number_, code.type))
                cf.AssertOp(holds, ir.StringAttr(assertion.attributes["msg"]).value)
    for assertion, _ in found:
        assertion.erase()


def _joined(flags: list[tuple[ir.Value, int | None]]) -> list[tuple[ir.Value, int | None]]:
    """Combines flags into one code: the number of the first flag that is set, or 0.

    Args:
        flags: each flag with its number; None for a value that is a code already.
    """
    while len(flags) > 1 or flags[0][1] is not None:
        flags = [(_first_set(group), None) for group in _groups(flags)]
    return flags


def _groups(flags: list) -> Iterator[list]:
    for start in range(0, len(flags), _TOGETHER):
        yield flags[start : start + _TOGETHER]


def _first_set(flags: Sequence[tuple[ir.Value, int | None]]) -> ir.Value:
    word = ir.IntegerType.get_signless(32)

    def first_set(*elements: ir.Value) -> list[ir.Value]:
        zero = code = number(0, word)
        for element, (_, own) in reversed(list(zip(elements, flags, strict=False))):
            is_set = compare(arith.CmpIPredicate.ne, element, zero)
            own_code = element if own is None else number(own, word)
            code = arith.SelectOp(is_set, own_code, code).result
        return [code]

    values = [flag for flag, _ in flags]
    return generic(values, [empty([], word)], [[]] * (len(flags) + 1), [], first_set)[0]


JOIN_ASSERTIONS = Step(
    "iree-assertions",
    "read one flag from the device instead of one for each assertion",
    join_assertions,
)


ASSERTION_LINES = Step(
    "iree-assertion-lines",
    "put the user's source line into the message of each assertion",
    add_source_lines,
)
