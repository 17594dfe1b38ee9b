"""Decompositions that users register."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from unmess.core.errors.error import Error

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class UserDecomposition:
    """A decomposition that a user registered. `where` is the source line of its function.

    It is equal to itself only: callable objects of users may have no hash.
    """

    operator: str
    function: Callable[..., Any]
    where: str


_USERS: dict[torch._ops.OpOverload, UserDecomposition] = {}


def decomposition(
    operator: torch._ops.OpOverload | torch._ops.OpOverloadPacket,
) -> Callable[[_Function], _Function]:
    """Registers the decorated function as a decomposition for every later capture.

    Args:
        operator: `torch.ops.mylib.foo.default`, or `torch.ops.mylib.foo` for all its overloads; of
            aten or of a library of your own. The function takes the operator's own arguments and
            computes it with simpler operators. It may return NotImplemented to keep a call. A later
            registration replaces it.

    Returns:
        The decorator, which returns the function unchanged.

    Raises:
        Error: stage `usage`, if `operator` is not an operator.
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
    """Returns the decompositions registered so far."""
    return dict(_USERS)
