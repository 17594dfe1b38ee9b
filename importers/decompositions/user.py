"""Decompositions that users add."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from unmess.core.error import Error

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class UserDecomposition:
    """A function that computes an operator with others. `where` is its source line."""

    operator: str
    function: Callable[..., Any]
    where: str


_USERS: dict[torch._ops.OpOverload, UserDecomposition] = {}


def decomposition(
    operator: torch._ops.OpOverload | torch._ops.OpOverloadPacket,
) -> Callable[[_Function], _Function]:
    """Decorates a function that computes an operator with simpler ones, for every capture after it.

    Args:
        operator: `torch.ops.mylib.foo.default`, or `torch.ops.mylib.foo` for all its overloads; of
            aten or of a library of your own. The function takes the operator's own arguments. It
            may return NotImplemented to leave a call as it is. A later one replaces it.

    Returns:
        The decorator, which gives the function back unchanged.

    Raises:
        Error: stage `usage`, where `operator` is not an operator.
    """
    if isinstance(operator, torch._ops.OpOverloadPacket):
        overloads = [getattr(operator, name) for name in operator.overloads()]
    elif isinstance(operator, torch._ops.OpOverload):
        overloads = [operator]
    else:
        raise Error(
            "usage",
            f"{operator!r} is not an operator",
            hint="pass one such as torch.ops.mylib.foo.default",
        )

    def register(function: _Function) -> _Function:
        code = getattr(inspect.unwrap(function), "__code__", None)
        where = f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)
        for overload in overloads:
            _USERS[overload] = UserDecomposition(overload.name(), function, where)
        return function

    return register


def user_decompositions() -> dict[torch._ops.OpOverload, UserDecomposition]:
    """Those registered so far."""
    return dict(_USERS)
