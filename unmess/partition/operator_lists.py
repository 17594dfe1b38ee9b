"""Lists of operators that a user forces into compiled regions, or out of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch

from importers.decompositions.tracing import DECOMPOSED
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
        return self._has(self.allowed, node) and self.denies(node) is None

    def denies(self, node: torch.fx.Node) -> str | None:
        """Returns the name of the denied operator; None if no operator of the node is denied."""
        return next(iter(sorted(self._matching(self.denied, node))), None)

    def _has(self, names: frozenset[str], node: torch.fx.Node) -> bool:
        return bool(self._matching(names, node))

    @staticmethod
    def _matching(names: frozenset[str], node: torch.fx.Node) -> set[str]:
        if not names:
            return set()
        return {name for target in _operators(node) for name in _spellings(target) if name in names}


def _operators(node: torch.fx.Node) -> Iterator[object]:
    """Yields the operator of a node, and those that it was decomposed from."""
    yield node.target
    yield from node.meta.get(DECOMPOSED, ())
    # The operators from before PyTorch's own decompositions.
    yield node.meta.get("original_aten")


def _spellings(target: object) -> set[str]:
    """Returns the names that a list can have for an operator. In-place forms have both names."""
    if not isinstance(target, torch._ops.OpOverload):
        return set()
    packets = {target._schema.name, target._schema.name.removesuffix("_")}
    return {*packets, *(f"{packet}.{target._overloadname}" for packet in packets)}


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
