"""Recipes: what is known about the models that can be named without a file of one's own."""

from __future__ import annotations

from dataclasses import dataclass

from importers.recipes.limits import Limit, known_limits
from importers.recipes.models import LIBRARIES, named_models


@dataclass(frozen=True)
class Recipe:
    """What is known about one model. How it is built is the business of its source.

    Attributes:
        model: the model string.
        source: its prefix, `torchvision` or `hf`.
        task: what the model is for, as its source puts it.
        limits: where it is known to stop, one for each runner or one for all.
    """

    model: str
    source: str
    task: str
    limits: tuple[Limit, ...] = ()


def list_recipes() -> list[Recipe]:
    """All recipes, sorted by source and task."""
    limits = known_limits()
    recipes = [
        Recipe(f"{source}:{name}", source, task, limits.get(f"{source}:{name}", ()))
        for source in LIBRARIES
        for name, task in named_models(source).items()
    ]
    return sorted(recipes, key=lambda recipe: (recipe.source, recipe.task, recipe.model))
