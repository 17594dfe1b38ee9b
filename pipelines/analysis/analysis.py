"""Analyzes a module at a stage: operations, bodies, costs and memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.analysis.bodies import BodyGroup, group_bodies
from pipelines.analysis.entries import Entry, measure_entry
from pipelines.analysis.operations import OperationCount, count_operations
from pipelines.analysis.sizes import is_structured
from pipelines.files import read_module
from pipelines.ir.modules import copy_module, find_operations
from unmess.core.errors.error import Error
from unmess.core.errors.model_sources import add_model_file
from unmess.core.ir.recognition import public_functions

# The pass that removes each kind of call or jump between blocks.
_STRUCTURING = {
    "func.call": "inline",
    **dict.fromkeys(("cf.br", "cf.cond_br", "cf.switch"), "lift-cf-to-scf"),
}


@dataclass(frozen=True)
class Analysis:
    """The content and the cost of a module.

    Attributes:
        name: the name of the model or file.
        stage: the stage of the module. Costs, bodies and memory are available from linalg on.
        operations: the numbers of operations by dialect and name.
        bodies: the distinct bodies of linalg operations.
        entries: the functions that can be called.
    """

    name: str
    stage: str
    operations: tuple[OperationCount, ...]
    bodies: tuple[BodyGroup, ...]
    entries: tuple[Entry, ...]


def analyze_module(
    module: ir.Module,
    name: str,
    stage: str,
    shapes: Mapping[str, Sequence[Sequence[int | str]]] | None = None,
    values: Mapping[str, int] | None = None,
    given: Iterable[str] = (),
) -> Analysis:
    """Analyzes a module without changing it.

    Args:
        shapes: the shapes of the arguments of each entry function. Dynamic sizes are expressions
            over symbols. Without shapes, symbols are named by argument and axis: `x.0`.
        values: the values of symbols. Results that depend on other symbols are expressions.
        given: names that must be names of dynamic sizes.

    Raises:
        Error: stage `usage`, if a name in `given` is not the name of a dynamic size.
    """
    analysis = _analyze(module, name, stage, shapes or {}, values or {})
    known = {symbol for entry in analysis.entries for symbol in entry.symbols}
    if unknown := sorted(set(given) - known):
        raise Error(
            "usage",
            f"the program has no dynamic size {unknown[0]!r}",
            hint=f"use one of {', '.join(sorted(known))}"
            if known
            else "omit the sizes: all sizes of the program are static",
        )
    return analysis


def _analyze(
    module: ir.Module,
    name: str,
    stage: str,
    shapes: Mapping[str, Sequence[Sequence[int | str]]],
    values: Mapping[str, int],
) -> Analysis:
    with module.context, ir.Location.unknown():
        whole = _structured(module)
        structured = find_operations(module, is_structured)
        return Analysis(
            name=name,
            stage=stage,
            operations=tuple(count_operations(module)),
            bodies=tuple(group_bodies(structured)),
            entries=tuple(
                measure_entry(
                    function,
                    shapes.get(ir.StringAttr(function.attributes["sym_name"]).value),
                    values,
                    with_costs=stage == "linalg",
                )
                for function in _functions(whole)
            ),
        )


def _functions(module: ir.Module) -> list[ir.OpView]:
    """Returns the public functions that have a body."""
    return [
        operation for operation in public_functions(module).values() if operation.regions[0].blocks
    ]


def _structured(module: ir.Module) -> ir.Module:
    """Inlines calls, and turns jumps between blocks into loops and branches.

    So operations of a called function count for each call, and those of a loop for each iteration.
    """
    found = {operation.name for operation in find_operations(module, _is_jump)}
    needed = dict.fromkeys(_STRUCTURING[name] for name in sorted(found, reverse=True))
    if not needed:
        return module
    copy = copy_module(module)
    PassManager.parse(f"builtin.module({','.join(needed)})").run(copy.operation)
    return copy


def _is_jump(operation: ir.Operation) -> bool:
    return operation.name in _STRUCTURING


def analyze_file(
    path: str | Path, at: str | None = None, sizes: Mapping[str, int] | None = None
) -> Analysis:
    """Analyzes the module in a file, after lowering it to the stage `at`.

    Args:
        at: the stage; by default that of the file.
        sizes: sizes of dynamic dimensions by name: `x.0` for axis 0 of the model's argument `x`,
            `arg0.0` if the argument has no name.

    Raises:
        Error: stage `usage`, or the stage at which lowering failed.
    """
    add_model_file(path)
    module = read_module(path, at)
    sizes = sizes or {}
    return analyze_module(module.ir, module.name, module.stage, values=sizes, given=sizes)
