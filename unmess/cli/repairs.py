"""`unmess repairs`: what is done to programs so that they lower."""

from __future__ import annotations

import itertools
from dataclasses import asdict

import click

from unmess.cli.session import Session, command


@click.command()
@command
def repairs(session: Session) -> None:
    """List the repairs and decompositions that programs may get.

    Each is applied only where it matches, and then named in the program's notes (`check -v`).
    """
    with session.working("repairs"):
        from importers.repairs.listing import every_repair

        listed = every_repair()
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
