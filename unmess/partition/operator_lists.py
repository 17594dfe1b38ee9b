"""Lists of operators that a user forces into compiled regions, or out of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from unmess.core.errors.error import Error
from unmess.probe.finding import find_operator

# Environment variables, which add to the arguments: `aten::batch_norm;aten::hardswish`.
ALLOW, DENY = "UNMESS_ALLOW_OPS", "UNMESS_DENY_OPS"


@dataclass(frozen=True)
class OperatorLists:
    """Operators by name: a packet, `aten::add`, or one overload, `aten::add.Tensor`.

    Attributes:
        allowed: operators that are compiled. If one cannot be compiled, that is an error.
        denied: operators that run in eager PyTorch, even if they are allowed, too.
    """

    allowed: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()

    @classmethod
    def read(cls, allow_ops: Iterable[str] = (), deny_ops: Iterable[str] = ()) -> OperatorLists:
        """Returns the lists from arguments and from the environment, which is read at each call.

        Raises:
            Error: stage `usage`; there is no operator of a name.
        """
        return cls(
            _names("allow_ops", allow_ops) | _names(ALLOW, _split(os.environ.get(ALLOW, ""))),
            _names("deny_ops", deny_ops) | _names(DENY, _split(os.environ.get(DENY, ""))),
        )

    def allows(self, node: torch.fx.Node) -> bool:
        """Returns whether the operator of a node is allowed, and not denied."""
        return self._has(self.allowed, node) and not self.denies(node)

    def denies(self, node: torch.fx.Node) -> bool:
        """Returns whether the operator of a node is denied."""
        return self._has(self.denied, node)

    @staticmethod
    def _has(names: frozenset[str], node: torch.fx.Node) -> bool:
        return bool(names) and not names.isdisjoint(_spellings(node.target))


def _spellings(target: object) -> set[str]:
    """Returns the names that a list can have for an operator."""
    if not isinstance(target, torch._ops.OpOverload):
        return set()
    packet = target._schema.name
    return {packet, f"{packet}.{target._overloadname}"}


def _split(text: str) -> list[str]:
    return [name.strip() for name in re.split("[;,]", text) if name.strip()]


def _names(place: str, names: Iterable[str]) -> frozenset[str]:
    if isinstance(names, str):
        names = _split(names)
    found = set()
    for name in names:
        try:
            overload = find_operator(name)
        except Error as error:
            raise Error("usage", f"{place}: {error.cause}", hint=error.hint) from None
        schema = overload._schema.name
        is_packet = name.removeprefix("torch.ops.").replace("::", ".").count(".") < 2
        found.add(schema if is_packet else f"{schema}.{overload._overloadname}")
    return frozenset(found)
