"""`unmess repairs`: lists the repairs and decompositions that may be applied to programs."""

from __future__ import annotations

import itertools
from dataclasses import asdict

import click

from unmess.cli.session import Session, command


@click.command()
@command
def repairs(session: Session) -> None:
    """List the repairs and decompositions that programs may get.

    Each is applied only where it matches, and is then listed in the program's notes (`check -v`).
    """
    from importers.repair_list import recorded_repairs

    listed = recorded_repairs()
    if session.json:
        session.write_json([asdict(entry) for entry in listed])
        return
    lines = []
    for kind, entries in itertools.groupby(listed, lambda entry: entry.kind):
        lines.append(f"{kind}:")
        for entry in entries:
            lines.append(f"  {entry.name}: {entry.mends}")
            lines.append(f"    {entry.stage}: {entry.reason}")
            if entry.upstream:
                lines.append(f"    {entry.upstream}")
    session.write("\n".join(lines))
