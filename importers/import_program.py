"""Imports programs of any origin into modules at stage `raw`."""

from __future__ import annotations

from unmess.core.errors.error import Error
from unmess.core.module.module import WEIGHTS, Module
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs


def has_graph(program: Program | Programs) -> bool:
    """Returns whether a program was captured in this process. Otherwise, its IR is given."""
    parts = program.entries.values() if isinstance(program, Programs) else [program]
    return all(part.exported is not None for part in parts)


def import_program(program: Program | Programs, weights: str = "external") -> Module:
    """Imports a program, or several into one module, into the torch dialect at stage `raw`.

    Args:
        weights: `external` makes every weight an argument of the entry function, after the
            call's own. `inline` and `elide` make them literals over the tensors' own memory.
            `splat` makes them literals with one value, the first element of the tensor.

    Raises:
        Error: stage `usage` for an unknown `weights`; `import` for an operator or argument that
            the torch dialect cannot express.
    """
    if weights not in WEIGHTS:
        raise Error(
            "usage", f"unknown weights {weights!r}", hint=f"use one of {', '.join(WEIGHTS)}"
        )
    first = next(iter(program.entries.values())) if isinstance(program, Programs) else program
    # Import the importer only when needed: a file does not need the libraries of the other one.
    if getattr(first, "file", None) is not None:
        from importers.ir_file import import_ir

        return import_ir(program, weights)
    from importers.torch_dialect import import_exported

    return import_exported(program, weights)
