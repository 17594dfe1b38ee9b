"""Replaces outlined operations with vector code."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch_mlir import ir

from pipelines.reference.schedules import SCHEDULES
from pipelines.reference.schedules.machine import Machine
from pipelines.reference.steps.outlining import NO_ALIAS, OUTLINED, is_outlined


def vectorize(
    module: ir.Module,
    machine: Machine,
    deserves: Callable[[ir.Operation, float], bool],
    calls: Mapping[str, float],
) -> None:
    """Replaces the outlined functions that a schedule supports, in place. The others stay.

    Args:
        deserves: returns whether to try the schedules on an operation that is called this often.
        calls: the number of calls of each function; by default 1.
    """
    with module.context, ir.Location.unknown():
        for function in list(module.body.operations):
            operation = _outlined(function)
            if operation is None:
                continue
            name = ir.StringAttr(function.attributes["sym_name"]).value
            if not deserves(operation, calls.get(name, 1)):
                continue
            for schedule in SCHEDULES:
                if text := schedule(function, operation, machine):
                    _exchange(function, text)
                    break


def _exchange(function: ir.OpView, text: str) -> None:
    parsed = ir.Module.parse(text)
    copy = parsed.body.operations[0].operation.clone(ip=ir.InsertionPoint(function))
    for attribute in (OUTLINED, NO_ALIAS):
        if attribute in function.attributes:
            copy.attributes[attribute] = function.attributes[attribute]
    function.operation.erase()


def _outlined(function: ir.OpView) -> ir.Operation | None:
    """Returns the `linalg.generic` of an outlined function, if any."""
    if not is_outlined(function):
        return None
    for operation in function.regions[0].blocks[0].operations:
        if operation.operation.name == "linalg.generic":
            return operation.operation
    return None
