"""`unmess models`: lists the models that need no file from the user."""

from __future__ import annotations

from dataclasses import asdict

import click

from unmess.cli.session import Session, command
from unmess.core.error import Error


@click.command()
@click.option("--source", metavar="NAME", help="Only this source's, for instance torchvision.")
@command
def models(session: Session, source: str | None) -> None:
    """List the models that can be named without a file of one's own, and their known limits.

    Those of a Python file, a saved ExportedProgram or a Hugging Face folder come on top.
    """
    from importers.recipes import list_recipes

    recipes = list_recipes()
    if source is not None:
        sources = list(dict.fromkeys(recipe.source for recipe in recipes))
        if source not in sources:
            raise Error("usage", f"unknown source {source!r}", hint=f"one of {', '.join(sources)}")
        recipes = [recipe for recipe in recipes if recipe.source == source]
    if session.json:
        session.write_json([asdict(recipe) for recipe in recipes])
        return
    width = max(len(recipe.model) for recipe in recipes)
    for recipe in recipes:
        limits = "".join(f"; stops in {limit}" for limit in recipe.limits)
        session.write(f"{recipe.model:{width}}  {recipe.task}{limits}")
