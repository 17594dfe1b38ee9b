"""Recipes: what is known about the models that can be named without a file of one's own."""

from __future__ import annotations

from dataclasses import dataclass

from importers.recipes.limits import Limit, known_limits


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
    # Each imports the library that it lists.
    from importers.sources import huggingface, torchvision

    tasks = {
        "torchvision": {name: torchvision.task(name) for name in torchvision.names()},
        "hf": huggingface.model_types(),
    }
    limits = known_limits()
    recipes = [
        Recipe(f"{source}:{name}", source, task, limits.get(f"{source}:{name}", ()))
        for source, names in tasks.items()
        for name, task in names.items()
    ]
    return sorted(recipes, key=lambda recipe: (recipe.source, recipe.task, recipe.model))
