"""Recipes: recorded facts about the models of supported libraries."""

from __future__ import annotations

from dataclasses import dataclass

from importers.recipes.limits import Limit, known_limits
from importers.recipes.models import LIBRARIES, named_models


@dataclass(frozen=True)
class Recipe:
    """Facts about a model. Its source builds it.

    Attributes:
        model: the model string.
        source: the prefix of the model string, `torchvision` or `hf`.
        task: the task of the model, as its source names it.
        limits: the known limits, one for each runner or one for all.
    """

    model: str
    source: str
    task: str
    limits: tuple[Limit, ...] = ()


def list_recipes() -> list[Recipe]:
    """Returns all recipes, sorted by source and task."""
    limits = known_limits()
    recipes = [
        Recipe(f"{source}:{name}", source, task, limits.get(f"{source}:{name}", ()))
        for source in LIBRARIES
        for name, task in named_models(source).items()
    ]
    return sorted(recipes, key=lambda recipe: (recipe.source, recipe.task, recipe.model))
