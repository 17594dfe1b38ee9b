"""`unmess targets`: shows which runners compile and run on this machine."""

from __future__ import annotations

from dataclasses import asdict

import click

from unmess.cli.session import Session, command


@click.command()
@command
def targets(session: Session) -> None:
    """List all runners: whether they compile and run on this computer, and if not, why.

    Each driver is queried in a separate process, so a crash costs one row of the table.
    """
    with session.progress.showing():
        session.progress.begin("querying the drivers for devices")
        from unmess.environment.targets import availability

        found = availability()
    if session.json:
        session.write_json([asdict(item) for item in found])
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading in ("runner", "compiles", "runs", "device, or problem"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "runner")
    for item in found:
        why = Text(item.device or item.reason or "")
        if item.remedy:
            why.append(f"\n{item.remedy}")
        table.add_row(item.runner, _word(item.compiles), _word(item.runs), why)
    session.write_table(table)


def _word(value: bool) -> str:
    return "yes" if value else "no"
