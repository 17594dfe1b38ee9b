"""`unmess models`: lists the models that need no file from the user."""

from __future__ import annotations

from dataclasses import asdict

import click

from unmess.cli.session import Session, command
from unmess.core.errors.error import Error


@click.command()
@click.option(
    "--source",
    metavar="NAME",
    help="List only the models of this source, for instance torchvision.",
)
@command
def models(session: Session, source: str | None) -> None:
    """List the models that need no file of your own, and their known limits.

    Models from Python files, saved programs and Hugging Face folders are not listed.
    """
    from importers.recipes import list_recipes

    recipes = list_recipes()
    if source is not None:
        sources = list(dict.fromkeys(recipe.source for recipe in recipes))
        if source not in sources:
            raise Error(
                "usage", f"unknown source {source!r}", hint=f"use one of {', '.join(sources)}"
            )
        recipes = [recipe for recipe in recipes if recipe.source == source]
    if session.json:
        session.write_json([asdict(recipe) for recipe in recipes])
        return
    width = max(len(recipe.model) for recipe in recipes)
    for recipe in recipes:
        limits = "".join(f"; stops in {limit}" for limit in recipe.limits)
        if recipe.not_built is not None:
            limits = f"; not built: {recipe.not_built.cause}"
        session.write(f"{recipe.model:{width}}  {recipe.task}{limits}")
