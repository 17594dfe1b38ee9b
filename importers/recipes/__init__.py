"""Recipes: recorded facts about the models of supported libraries."""

from __future__ import annotations

from dataclasses import dataclass

from importers.recipes.limits import NOT_BUILT, Limit, known_limits
from importers.sources.models import LIBRARIES, named_models


@dataclass(frozen=True)
class Recipe:
    """Facts about a model. Its source builds it.

    Attributes:
        model: the model string.
        source: the prefix of the model string, `torchvision` or `hf`.
        task: the task of the model, as its source names it.
        limits: the known limits, one for each runner or one for all.
        not_built: why the source cannot build the model, or None if it can.
    """

    model: str
    source: str
    task: str
    limits: tuple[Limit, ...] = ()
    not_built: Limit | None = None

    @property
    def stops(self) -> tuple[Limit, ...]:
        """The limits, or the reason why the model is not built."""
        return self.limits if self.not_built is None else (self.not_built,)


def list_recipes() -> list[Recipe]:
    """Returns all recipes, sorted by source and task."""
    limits, not_built = known_limits(), known_limits(NOT_BUILT)
    recipes = [
        Recipe(model, source, task, limits.get(model, ()), *not_built.get(model, ()))
        for source in LIBRARIES
        for name, task in named_models(source).items()
        for model in [f"{source}:{name}"]
    ]
    return sorted(recipes, key=lambda recipe: (recipe.source, recipe.task, recipe.model))
