"""Removes value checks for output dialects without assertions.

The IR then also computes with values that eager rejects.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import erase_without_users, find_operations
from pipelines.ir.values import producer
from unmess.core.errors.check import VALUE_PREFIX

_ASSERT = "torch.runtime.assert"


def remove_value_checks(module: ir.Module) -> None:
    """Erases the assertions that unmess added, and operations that only they use, at `torch`."""
    with module.context:
        checks = find_operations(module, _is_value_check)
        names = _names_behind(checks)
        for check in checks:
            check.erase()
        erase_without_users(find_operations(module, lambda each: each.name in names))


def _is_value_check(operation: ir.Operation) -> bool:
    if operation.name != _ASSERT:
        return False
    return ir.StringAttr(operation.attributes["message"]).value.startswith(VALUE_PREFIX)


def _names_behind(checks: list[ir.Operation]) -> set[str]:
    """Returns the names of all operations that the conditions of assertions depend on."""
    values = [operand for check in checks for operand in check.operands]
    seen, names = set(), set()
    while values:
        value = values.pop()
        operation = producer(value)
        if value not in seen and operation is not None:
            seen.add(value)
            names.add(operation.name)
            values += operation.operands
    return names
