"""`unmess pipeline`: the passes from stage to stage, and why each of them is there."""

from __future__ import annotations

import click

from unmess.cli.session import Session, command
from unmess.core.names import check_name

_NAMES = ("torch", "linalg", "tosa", "stablehlo")


@click.command()
@click.argument("name", required=False)
@command
def pipeline(session: Session, name: str | None) -> None:
    """Print the passes of the pipeline NAME, top to bottom, or of all.

    NAME is that of the stage that it leads to: torch, linalg, tosa or stablehlo. Each pass is
    spelled as MLIR and `unmess-opt --pipeline` take it; its name is what `--print-after`,
    `--stop-after` and `--insert-pass` go by.
    """
    if name is not None:
        check_name("pipeline", name, _NAMES)
    with session.working("pipeline"):
        from pipelines.registry import PIPELINES

        chosen = [PIPELINES[one] for one in (_NAMES if name is None else (name,))]
    if session.json:
        session.write_json(
            [
                {
                    "pipeline": one.name,
                    "steps": [
                        {"name": step.name, "text": step.text, "why": step.why}
                        for step in one.steps
                    ],
                }
                for one in chosen
            ]
        )
        return
    lines = []
    for one in chosen:
        lines.append(f"{one.name}: {len(one.steps)} steps")
        for number, step in enumerate(one.steps, 1):
            lines += [f"{number:4} {step.text}", f"       {step.why}"]
    session.write("\n".join(lines))
