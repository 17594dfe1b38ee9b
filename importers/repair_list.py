"""Reads the list of repairs and decompositions, without importing PyTorch."""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).with_name("repair_list.yaml")


@dataclass(frozen=True)
class ListedRepair:
    """A repair, as `unmess repairs` prints it.

    Attributes:
        name: the name, as in a program's notes.
        kind: `decomposition` (of an operator), `rewrite` (of the graph) or `import` (a custom
            import into the IR).
        mends: the operator, `namespace::name.overload`, or the constructs that it applies to.
        stage: the stage at which a program with them fails, or becomes wrong, without the repair.
        reason: why it fails or becomes wrong.
    """

    name: str
    kind: str
    mends: str
    stage: str
    reason: str


def recorded_repairs() -> list[ListedRepair]:
    """Returns all repairs, a decomposition once for each of its operators, by kind."""
    return [repair for kind in _sections() for repair, _ in _of_kind(kind)]


def functions_of(kind: str) -> list[tuple[ListedRepair, Callable[..., Any]]]:
    """Returns the repairs of a kind, each with its function. Imports PyTorch."""
    return [
        (repair, pkgutil.resolve_name(f"importers.{function}"))
        for repair, function in _of_kind(kind)
    ]


@functools.lru_cache(maxsize=1)
def _sections() -> dict[str, list[dict[str, Any]]]:
    """Reads the entries of the file by kind.

    An entry has `mends` or `operators`. `operators` is a list of operators, or maps each operator
    to a function. An operator without a namespace is one of `aten`.
    """
    return yaml.load(_FILE.read_text(), yaml.CSafeLoader)


def _of_kind(kind: str) -> list[tuple[ListedRepair, str | None]]:
    found = []
    for entry in _sections()[kind]:
        function = entry.get("function")
        operators = entry.get("operators") or [entry["mends"]]
        if isinstance(operators, list):
            operators = dict.fromkeys(operators, function)
        for operator, each in operators.items():
            aten = kind == "decomposition" and "::" not in operator
            mends = f"aten::{operator}" if aten else operator
            found.append(
                (ListedRepair(entry["name"], kind, mends, entry["stage"], entry["reason"]), each)
            )
    return found
