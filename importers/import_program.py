"""Programs to modules at stage `raw`, whatever they were captured from."""

from __future__ import annotations

from unmess.core.error import Error
from unmess.core.module import WEIGHTS, Module
from unmess.core.program import Program
from unmess.core.programs import Programs


def import_program(program: Program | Programs, weights: str = "external") -> Module:
    """Imports a program into the torch dialect, stage `raw`; several into one module.

    Args:
        weights: `external` makes every weight an argument of the entry function, after the
            call's own; `inline` and `elide` make them literals over the tensors' own memory,
            `splat` literals of one value, the tensor's first.

    Raises:
        Error: stage `usage` for an unknown `weights`; `import` for an operator or argument that
            the torch dialect has no form for.
    """
    if weights not in WEIGHTS:
        raise Error("usage", f"unknown weights {weights!r}", hint=f"one of {', '.join(WEIGHTS)}")
    first = next(iter(program.entries.values())) if isinstance(program, Programs) else program
    # Each kind has an importer with libraries of its own. A file needs neither of the other two.
    if getattr(first, "file", None) is not None:
        from importers.ir_file import import_ir

        return import_ir(program, weights)
    from importers.torch_dialect import import_exported

    return import_exported(program, weights)
