"""`unmess models`: the models that need no file of the user's."""

from __future__ import annotations

from dataclasses import asdict

import click

from unmess.cli.session import Session, command
from unmess.core.error import Error


@click.command()
@click.option("--source", metavar="NAME", help="Only this source's, for instance torchvision.")
@command
def models(session: Session, source: str | None) -> None:
    """List the models that can be named without a file of one's own.

    Those of a Python file, a saved ExportedProgram or a Hugging Face folder come on top.
    """
    with session.working("models"):
        from importers.sources import list_models

        listed = list_models()
    if source is not None:
        sources = list(dict.fromkeys(entry.source for entry in listed))
        if source not in sources:
            raise Error("usage", f"unknown source {source!r}", hint=f"one of {', '.join(sources)}")
        listed = [entry for entry in listed if entry.source == source]
    if session.json:
        session.write_json([asdict(entry) for entry in listed])
        return
    width = max(len(entry.model) for entry in listed)
    session.write("\n".join(f"{entry.model:{width}}  {entry.task}" for entry in listed))
