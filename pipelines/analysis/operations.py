"""Counts the operations of a module by dialect and name."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pipelines.analysis.sizes import is_destination_style

_STRUCTURE = frozenset(("builtin.module", "func.func"))


@dataclass(frozen=True)
class OperationCount:
    """The numbers of an operation outside and inside of the bodies of linalg operations."""

    dialect: str
    name: str
    count: int
    in_bodies: int


def count_operations(module: ir.Module) -> list[OperationCount]:
    """Counts all operations except the module and its functions, the most frequent first."""
    outside: dict[str, int] = {}
    inside: dict[str, int] = {}

    def count(operation: ir.Operation, into: dict[str, int]) -> None:
        if operation.name not in _STRUCTURE:
            into[_full_name(operation)] = into.get(_full_name(operation), 0) + 1
        inner = inside if is_destination_style(operation) else into
        for region in operation.regions:
            for block in region.blocks:
                for each in block.operations:
                    count(each.operation, inner)

    count(module.operation, outside)
    names = sorted(outside.keys() | inside.keys())
    counts = [
        OperationCount(name.split(".")[0], name, outside.get(name, 0), inside.get(name, 0))
        for name in names
    ]
    return sorted(counts, key=lambda each: (-each.count, -each.in_bodies))


def _full_name(operation: ir.Operation) -> str:
    """Returns the operation's name; for `torch.operator`, followed by the operator's name."""
    if operation.name != "torch.operator":
        return operation.name
    return f"torch.operator {ir.StringAttr(operation.attributes['name']).value}"
