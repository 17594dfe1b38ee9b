"""Counts how many models match, by family and by operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from importers.recipes import list_recipes
from unmess.matrix.cells import Cell
from unmess.matrix.folder import Results
from unmess.row import Row

OTHER = "other models"


@dataclass(frozen=True)
class Share:
    """The models of a column that match eager PyTorch, among those that run in it."""

    matches: int
    count: int

    @property
    def value(self) -> float:
        """From 0 to 1; 1 without models."""
        return self.matches / self.count if self.count else 1.0


@dataclass(frozen=True)
class Group:
    """A family of models, or the models with an operator.

    Attributes:
        models: the number of its models.
        shares: one for each column.
    """

    name: str
    models: int
    shares: tuple[Share, ...]

    @property
    def lowest(self) -> float:
        """The lowest share."""
        return min(share.value for share in self.shares)


def families(models: Iterable[str]) -> dict[str, str]:
    """Returns the family of each model: source and task of its recipe."""
    tasks = {recipe.model: f"{recipe.source}: {recipe.task}" for recipe in list_recipes()}
    return {model: tasks.get(model, OTHER) for model in models}


def by_family(results: Results, columns: Sequence[str]) -> list[Group]:
    """Returns the families in alphabetic order."""
    family = families({cell.model for cell in results})
    return sorted(
        _groups(results, columns, lambda cell, _row: [family[cell.model]]),
        key=lambda group: group.name,
    )


def by_operator(results: Results, columns: Sequence[str]) -> list[Group]:
    """Returns the operators of the captured graphs, those with the lowest share first.

    A low share does not mean that the operator is at fault: another operator of the same models may
    be.
    """
    # All rows of a model have the operators of one graph. Those that failed early have none.
    operators = {cell.model: row.operators for cell, row in results.items() if row.operators}
    return sorted(
        _groups(results, columns, lambda cell, _row: operators.get(cell.model, ())),
        key=lambda group: (group.lowest, -group.models, group.name),
    )


def _groups(
    results: Results, columns: Sequence[str], names_of: Callable[[Cell, Row], Iterable[str]]
) -> list[Group]:
    models: dict[str, set[str]] = {}
    counts: dict[tuple[str, str], list[int]] = {}
    for cell, row in results.items():
        for name in names_of(cell, row):
            models.setdefault(name, set()).add(cell.model)
            if row.stage != "source":
                count = counts.setdefault((name, cell.column), [0, 0])
                count[0] += row.ok
                count[1] += 1
    return [
        Group(
            name,
            len(own),
            tuple(Share(*counts.get((name, column), (0, 0))) for column in columns),
        )
        for name, own in models.items()
    ]
