"""`unmess pipeline`: prints the passes from stage to stage, and the reason for each."""

from __future__ import annotations

from dataclasses import asdict

import click

from unmess.cli.session import Session, command
from unmess.core.errors.stages import LOWERED
from unmess.core.ir.lazy_numpy import import_bindings
from unmess.core.options.names import check_name

_NAMES = (*LOWERED, "tosa-to-linalg", "stablehlo-to-linalg", "upstream", "reference")


@click.command()
@click.argument("name", required=False)
@command
def pipeline(session: Session, name: str | None) -> None:
    """Print the steps of the pipeline NAME in order, or those of the pipelines to all stages.

    NAME is the stage that the pipeline leads to (torch, linalg, tosa or stablehlo); tosa-to-linalg
    or stablehlo-to-linalg, which both runners run on these dialects; upstream, which
    --upstream-only runs on linalg; or reference, which the reference runner runs on linalg. Passes
    are printed in the syntax of MLIR and `unmess-opt --pipeline`. `--print-after`, `--stop-after`
    and `--insert-pass` take the name of a pass or of a rewrite in Python.
    """
    if name is not None:
        check_name("pipeline", name, _NAMES)
    with session.working("pipeline", pytorch=False, is_model=False):
        import_bindings()
        from pipelines.listing import steps_of

        listed = {one: steps_of(one) for one in (LOWERED if name is None else (name,))}
    if session.json:
        session.write_json(
            [
                {"pipeline": one, "steps": [asdict(entry) for entry in steps]}
                for one, steps in listed.items()
            ]
        )
        return
    lines = []
    for one, steps in listed.items():
        lines.append(f"{one}: {len(steps)} steps")
        for number, entry in enumerate(steps, 1):
            lines += [f"{number:4} {entry.text}", f"       {entry.why}"]
    session.write("\n".join(lines))
