"""`unmess schema`: prints an operator's schema and the output dialects that it lowers to."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from unmess.cli.session import Session, command

if TYPE_CHECKING:
    from unmess.probe.schema import Trial


@click.command()
@click.argument("operator")
@command
def schema(session: Session, operator: str) -> None:
    """Print the schema and overloads of OPERATOR (aten::add.Tensor), and which stages it reaches.

    The operator is imported, decomposed and lowered to each output dialect, with example tensors of
    floats and of integers.
    """
    # Imported here, because `--help` does not need them.
    from unmess.core.processes.workers import Parent
    from unmess.isolated import libraries_of

    # Start it before the progress thread: a process with threads must not be forked.
    parent = Parent(libraries_of((), ()))
    parent.begin()
    with parent, session.working(operator, pytorch=False, is_model=False):
        from unmess.probe.schema import describe

        description = describe(parent, operator)
    if session.json:
        session.write_json(asdict(description))
        return
    lines = [description.schema, f"overloads: {', '.join(description.overloads)}"]
    for trial in description.trials:
        lines += _lines(trial)
    session.write("\n".join(lines))


def _lines(trial: Trial) -> list[str]:
    if trial.arguments is None:
        return [f"{trial.dtype}: found no example arguments that the operator accepts"]
    places = {"imports": trial.imports, **trial.lowers}
    lines = [
        f"{trial.dtype}: ({trial.arguments})",
        "  " + ", ".join(f"{place} {'yes' if there else 'no'}" for place, there in places.items()),
    ]
    if trial.decomposes:
        lines.append(f"  decomposed into {', '.join(trial.into)}")
    lines += [f"  {stage}: {cause}" for stage, cause in trial.causes.items()]
    return lines
