"""Overloads of operators, and decompositions that several of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def overload_of(operator: str) -> torch._ops.OpOverload | None:
    """Returns the operator `namespace::name.overload`, or None if it is not defined."""
    namespace, qualified = operator.split("::")
    name, overload = qualified.split(".")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    return getattr(packet, overload, None)


def takes_overload(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that decomposes several operators: its first argument is the overload."""
    function.takes_overload = True
    return function
