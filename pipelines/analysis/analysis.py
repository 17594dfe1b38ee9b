"""The whole analysis of a module at a stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.analysis.bodies import BodyGroup, group_bodies
from pipelines.analysis.entries import Entry, measure_entry
from pipelines.analysis.operations import OperationCount, count_operations
from pipelines.analysis.sizes import is_structured
from pipelines.ir_modules import copy_module, find_operations
from unmess.core.error import Error
from unmess.core.public_functions import public_functions

# The pass that removes an operation which says in which order the others are executed.
_STRUCTURING = {
    "func.call": "inline",
    **dict.fromkeys(("cf.br", "cf.cond_br", "cf.switch"), "lift-cf-to-scf"),
}


@dataclass(frozen=True)
class Analysis:
    """What a module is made of and what it costs.

    Attributes:
        name: of the model or file.
        stage: of the module; costs, bodies and memory are there from linalg on.
        operations: by dialect and name.
        bodies: of linalg operations, each distinct one once.
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
    """Analyses a module, which is left as it is.

    Args:
        shapes: of the arguments of each entry function, dynamic sizes as expressions over symbols;
            without them the symbols are called after the argument and the axis: `x.0`.
        values: of these symbols. Numbers that depend on others are expressions.
        given: the names that must be those of dynamic sizes.

    Raises:
        Error: stage `usage`, where a name in `given` is not one.
    """
    analysis = _analyze(module, name, stage, shapes or {}, values or {})
    known = {symbol for entry in analysis.entries for symbol in entry.symbols}
    if unknown := sorted(set(given) - known):
        raise Error(
            "usage",
            f"no dynamic size is called {unknown[0]}",
            hint=f"one of {', '.join(sorted(known))}" if known else "all sizes are static",
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
    """Those with a body that can be called from outside."""
    return [
        operation for operation in public_functions(module).values() if operation.regions[0].blocks
    ]


def _structured(module: ir.Module) -> ir.Module:
    """The module with its functions joined, and jumps between blocks as loops and branches.

    What a function calls is then counted at each call, and what a loop does as often as it runs.
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
