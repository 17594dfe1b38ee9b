"""The cells of a matrix: models by pattern, runners, output dialects, shards."""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from importers.recipes import list_recipes
from importers.sources.model_string import check_model_string, is_model_string
from unmess.core.errors.error import Error
from unmess.core.errors.stages import OUTPUT_DIALECTS
from unmess.core.options.names import check_name
from unmess.row import Row

# The name of the backend's own choice of output dialect, as `unmess check` runs it.
DEFAULT_DIALECT = "default"
_WILDCARD = re.compile(r"[*?\[]")
_SHARD = re.compile(r"(\d+)/(\d+)")


class Cell(NamedTuple):
    """One check of a matrix. `via` is None if the backend chooses the output dialect."""

    model: str
    runner: str
    via: str | None

    @property
    def column(self) -> str:
        """The name of the column: the runner, and the output dialect."""
        return self.runner if self.via is None else f"{self.runner} via {self.via}"

    @property
    def command(self) -> str:
        """The command line that repeats the check."""
        via = "" if self.via is None else f" --via {self.via}"
        return f"unmess check {shlex.quote(self.model)} --on {shlex.quote(self.runner)}{via}"


def cell_of(row: Row) -> Cell:
    """Returns the cell that a row is the result of."""
    return Cell(row.model, row.runner, row.via)


def matching_models(patterns: Sequence[str]) -> list[str]:
    """Returns the model strings that patterns name, in the order of the patterns.

    Args:
        patterns: model strings, and patterns of recipes such as `torchvision:*`. Without any, all
            recipes.

    Raises:
        Error: stage `usage` for a pattern that no recipe matches; `source` for a wrong model
            string.
    """
    recipes = [recipe.model for recipe in list_recipes()]
    found: dict[str, None] = {}
    for pattern in patterns or ("*",):
        if _WILDCARD.search(pattern) and not is_model_string(pattern):
            matches = fnmatch.filter(recipes, pattern)
            if not matches:
                raise Error(
                    "usage",
                    f"no recipe matches {pattern!r}",
                    hint="`unmess models` lists the recipes; torchvision:* and hf:* match all",
                )
        else:
            check_model_string(pattern)
            matches = [pattern]
        found.update(dict.fromkeys(matches))
    return list(found)


def dialects_of(names: Iterable[str]) -> list[str | None]:
    """Returns output dialects by name, None for `default`.

    Raises:
        Error: stage `usage`; a name is wrong.
    """
    names = list(names)
    for name in names:
        check_name("output dialect", name, (*OUTPUT_DIALECTS, DEFAULT_DIALECT))
    return [None if name == DEFAULT_DIALECT else name for name in dict.fromkeys(names)]


class Shard(NamedTuple):
    """A share of the models: every `count`-th one, from number `index`, which begins at 1."""

    index: int = 1
    count: int = 1

    def __str__(self) -> str:
        return f"{self.index}-of-{self.count}"

    def of(self, models: Sequence[str]) -> list[str]:
        """Returns the models of this shard. All shards together have each model once."""
        return list(models[self.index - 1 :: self.count])


def parse_shard(text: str) -> Shard:
    """Reads `I/N`.

    Raises:
        Error: stage `usage`; it has another form, or I is not between 1 and N.
    """
    match = _SHARD.fullmatch(text)
    if match and 1 <= int(match[1]) <= int(match[2]):
        return Shard(int(match[1]), int(match[2]))
    raise Error(
        "usage",
        f"--shard {text} is not of the form I/N, with I from 1 to N",
        hint="--shard 1/4, --shard 2/4, … divide the models among four machines",
    )
