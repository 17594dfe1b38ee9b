"""Loads programs, and lets eager PyTorch run the operators that a backend does not support."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from importers.captured_program import is_captured
from pipelines.backends.executable import Executable
from pipelines.backends.finding import find_backend
from unmess.core.errors.error import Error
from unmess.core.module.module import Module
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs
from unmess.partition.backend import PartitionBackend
from unmess.partition.options import PartitionOptions
from unmess.partition.partition import BEFORE_RUN, Division, without_frames
from unmess.partition.partitioned import PartitionedGraph


def divide(
    program: Program | Programs,
    on: str,
    options: PartitionOptions,
    on_attempt: Callable[[str], None] = lambda _text: None,
) -> dict[str, PartitionedGraph]:
    """Returns the compiled regions of each entry point, by its name.

    Args:
        on_attempt: called with a text before a region or an operator is compiled.

    Raises:
        Error: stage `usage`; or an operator of `allow_ops` does not compile.
    """
    divisions = {
        entry: Division(each, on, options, on_attempt=on_attempt)
        for entry, each in _programs(program).items()
    }
    for division in divisions.values():
        division.compile()
    return {entry: division.graph() for entry, division in divisions.items()}


def load_with_fallback(
    program: Program | Programs,
    whole: Callable[[], Executable],
    on: str,
    options: PartitionOptions,
) -> Executable:
    """Returns the program on a backend; operators that it does not support run in eager PyTorch.

    Args:
        whole: loads the program on the backend as a whole. If that succeeds, its result is
            returned.

    Raises:
        Error: stage `usage`; an operator of `allow_ops` does not compile; or the program fails for
            another reason than an operator.
    """
    programs = _programs(program)
    divisions = {entry: Division(each, on, options) for entry, each in programs.items()}
    first_error = None
    backend = find_backend(on)
    # A backend with `supports` may miscompile an operation that it does not support, without an
    # error. So do not try the whole program on it.
    asks = hasattr(backend, "supports")
    if not asks and not any(each.outside for each in divisions.values()):
        try:
            return whole()
        except Error as error:
            if error.stage not in BEFORE_RUN:
                raise
            first_error = without_frames(error)
    signatures = {entry: each.signature for entry, each in programs.items()}
    with ir.Context(), ir.Location.unknown():
        # Each region has its own IR.
        empty = ir.Module.create()
    module = Module(
        name=program.name,
        stage="raw",
        ir=empty,
        signature=next(iter(signatures.values())),
        weights=program.weights,
        entry=next(iter(signatures)),
        entries=signatures,
        notes=program.notes,
        seconds=dict(program.seconds),
        program=program,
    )
    return Executable(module, PartitionBackend(backend, divisions, first_error))


def _programs(program: Program | Programs) -> dict[str, Program]:
    if not is_captured(program):
        raise Error(
            "usage",
            f"{program.name} was not captured from PyTorch, so no part of it can run in eager",
            hint="use the original model",
        )
    return program.entries
