"""Makes branches on values traceable: comparisons become operators, `raise` a check.

Many models validate their inputs by `if CONDITION: raise …`. A tracer has no value for the
condition, and fails. The program checks it instead, and continues without the branch: if eager
raises an exception, the check fails. A model runs under `raise_branches` only after a capture
without it has failed.

`torch.equal` and `torch.cov` read the values of tensors. Fake tensors have none, so a tracer fails
there, too. `TraceableComparisons` replaces both functions: the program computes what they return.
A model runs under it only after a capture without it has failed.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import functools
import linecache
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any
from unittest import mock

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.overrides import TorchFunctionMode

from importers.decompositions.assertions import require

# A range in a file: line, last line, column, last column.
_Place = tuple[int, int, int, int]


class RaiseBranches(TorchFunctionMode):
    """Checks conditions on tensors that only lead to a `raise`, inside a `with` block."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Called for each function on tensors; see PyTorch's `TorchFunctionMode`."""
        if func is torch.Tensor.__bool__ and type(args[0]) is not torch.Tensor:
            value = _value_without_raise()
            if value is not None:
                require(args[0] if value else torch.logical_not(args[0]), _MESSAGE)
                return value
        return func(*args, **(kwargs or {}))


_MESSAGE = "the model raises an exception for this input"


@contextlib.contextmanager
def raise_branches() -> Iterator[None]:
    """Replaces branches that only lead to a `raise` by checks, inside the `with` block.

    Covers conditions on tensors and on numbers from tensors.
    """
    original = torch.SymBool.__bool__

    def as_bool(condition: torch.SymBool) -> bool:
        try:
            return original(condition)
        except GuardOnDataDependentSymNode:
            value = _value_without_raise()
            if value is None:
                raise
            torch._check(condition if value else torch.sym_not(condition), lambda: _MESSAGE)
            return value

    with mock.patch.object(torch.SymBool, "__bool__", as_bool), RaiseBranches():
        yield


def _value_without_raise() -> bool | None:
    """Returns the value of the current condition for which its statement does not raise.

    None if the condition does not belong to an `if` whose body raises.
    """
    frame = sys._getframe(1)
    while frame is not None and (
        frame.f_globals is globals() or frame.f_code.co_name == "__torch_function__"
    ):
        frame = frame.f_back
    place = frame and _place(frame)
    if place is None:
        return None
    for statement in _raising(frame.f_code.co_filename):
        value = _decides(statement.test, False, place)
        if value is not None:
            return value
    return None


def _place(frame: FrameType) -> _Place | None:
    """Returns the range of the condition that a frame converts to a bool.

    Depending on Python's version, the conversion is an instruction with the range of the condition,
    or a jump with the range of its statement. The instruction before the jump has the right range.
    """
    until = [one for one in dis.get_instructions(frame.f_code) if one.offset <= frame.f_lasti]
    last = until[-2:] if "JUMP" in until[-1].opname else until[-1:]
    found = last[0].positions
    place = (found.lineno, found.end_lineno, found.col_offset, found.end_col_offset)
    return None if None in place else place


@functools.lru_cache(maxsize=64)
def _raising(file: str) -> tuple[ast.If, ...]:
    """Returns the `if` statements of a file whose bodies raise an exception that is not caught."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    caught = {
        node
        for statement in ast.walk(tree)
        if isinstance(statement, ast.Try) and statement.handlers
        for part in statement.body
        for node in ast.walk(part)
    }
    return tuple(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and node not in caught and _always_raises(node.body)
    )


def _always_raises(body: list[ast.stmt]) -> bool:
    # Other statements before the `raise` compute its message.
    return isinstance(body[-1], ast.Raise) and all(
        isinstance(statement, (ast.Assign, ast.AnnAssign)) for statement in body[:-1]
    )


def _decides(test: ast.expr, wanted: bool, place: _Place) -> bool | None:
    """Returns the value that the operand at `place` must have, so that `test` is `wanted`.

    None if there is no such operand, or if a later operand can also decide.
    """
    if _range(test) == place:
        return wanted
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _decides(test.operand, not wanted, place)
    if isinstance(test, ast.BoolOp):
        # All operands of `or` must be false for a false result, but one of `and` is enough.
        each = isinstance(test.op, ast.Or) is not wanted
        for operand in test.values if each else test.values[-1:]:
            value = _decides(operand, wanted, place)
            if value is not None:
                return value
    return None


def _range(node: ast.expr) -> _Place:
    return (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)


class TraceableComparisons(TorchFunctionMode):
    """Replaces calls of `torch.equal` and similar operators inside a `with` block."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Called for each function on tensors; see PyTorch's `TorchFunctionMode`."""
        return _REPLACED.get(func, func)(*args, **(kwargs or {}))


def equal(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Returns True if shapes and all elements are equal: a bool, or a symbolic one."""
    if x.shape != y.shape:
        return False
    return torch.eq(x, y).all().item()


def allclose(x: torch.Tensor, y: torch.Tensor, *args: Any, **options: Any) -> Any:
    """Returns True if all elements are close, as in `torch.isclose`."""
    return torch.isclose(x, y, *args, **options).all().item()


def cov(
    x: torch.Tensor,
    *,
    correction: int = 1,
    fweights: torch.Tensor | None = None,
    aweights: torch.Tensor | None = None,
) -> torch.Tensor:
    """Returns the covariance matrix of the rows of `x`, like `torch.cov`."""
    rows = x.reshape(1, -1) if x.dim() < 2 else x
    weights = [w for w in (fweights, aweights) if w is not None]
    for weight in weights:
        require(torch.ge(weight, 0), "cov has a negative weight")
    if not weights:
        total, weighted = rows.shape[1], rows
        norm = max(total - correction, 0)
    else:
        weight = weights[0] if len(weights) == 1 else weights[0] * weights[1]
        total, weighted = weight.sum(), rows * weight
        require(torch.ne(total, 0), "cov has weights whose sum is zero")
        norm = total - correction
        if aweights is not None and correction != 0:
            norm = total - correction * (weight * aweights).sum() / total
        norm = norm.clamp(min=0)
    mean = weighted.sum(1) / total
    rows = rows - mean.unsqueeze(1)
    weighted = rows * weight if weights else rows
    product = torch.mm(rows, weighted.t().conj())
    return torch.true_divide(product, norm).squeeze()


def corrcoef(x: torch.Tensor) -> torch.Tensor:
    """Returns the correlation matrix of the rows of `x`, like `torch.corrcoef`."""
    matrix = cov(x)
    if matrix.dim() == 0:
        return matrix / matrix
    variance = matrix.diagonal()
    deviation = torch.sqrt(variance.real if variance.is_complex() else variance)
    matrix = matrix / deviation.reshape(-1, 1) / deviation.reshape(1, -1)
    if matrix.is_complex():
        return torch.complex(matrix.real.clamp(-1, 1), matrix.imag.clamp(-1, 1))
    return matrix.clamp(-1, 1)


_REPLACED: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.equal: equal,
    torch.Tensor.equal: equal,
    torch.allclose: allclose,
    torch.Tensor.allclose: allclose,
    torch.cov: cov,
    torch.Tensor.cov: cov,
    torch.corrcoef: corrcoef,
    torch.Tensor.corrcoef: corrcoef,
}
