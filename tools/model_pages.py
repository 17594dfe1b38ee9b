"""The tables of models under `docs/models/`: writes them, and reads their results back."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from importers.recipes import Recipe
from unmess.matrix.summary import EQUAL, columns_of, state
from unmess.pages.markdown import escaped, unescaped
from unmess.row import Row

DOCS = Path(__file__).resolve().parents[1] / "docs" / "models"
TITLES = {"torchvision": "torchvision", "hf": "Hugging Face"}
# The packages whose versions the results depend on.
_VERSIONS = {
    "torchvision": ("torch", "torchvision", "torch-mlir", "iree-base-compiler"),
    "hf": ("torch", "transformers", "torch-mlir", "iree-base-compiler"),
}
# The stages that depend on the runner.
RUNNERS_OWN = ("compile", "load", "run", "compare")
_NOT_RUN = "not run"
_NOT_BUILT = "## Not built"

# By model and runner.
Results = dict[tuple[str, str], Row]


def page_of(source: str) -> Path:
    """Returns the path of the page about a source."""
    return DOCS / f"{TITLES[source].lower().replace(' ', '')}.md"


def page(source: str, recipes: Sequence[Recipe], results: Results, runners: Sequence[str]) -> str:
    """Returns the tables as Markdown: a row for each model, with the cause if it stops.

    Models that are not built are in a table of their own, since that is the same for all runners.
    """
    results = results | _same_on_all(results, runners)
    found = {
        recipe: [results.get((recipe.model, runner)) for runner in runners] for recipe in recipes
    }
    not_built = {
        recipe: row.error
        for recipe, rows in found.items()
        for row in rows[:1]
        if row is not None and row.stage == "source"
    }
    every = [row for rows in found.values() for row in rows]
    rows = [row for row in every if row is not None]
    not_run = every.count(None)
    versions = ", ".join(f"{name} {version(name)}" for name in _VERSIONS[source])
    lines = [
        f"# {TITLES[source]}",
        "",
        f"Written by `./pixiw run sweep {source}`, with {versions}.",
        "A number is the largest difference from eager PyTorch, relative to the largest value.",
        "`iree-cpu` compiles with the default preset of each model.",
        *([f"{not_run} checks have not been run, and are not counted."] if not_run else []),
        "",
        *(f"- {line}" for line in columns_of(rows)),
        *([f"- {len(not_built)} models are [not built](#not-built)"] if not_built else []),
        "",
        _row("model", "task", *runners),
        _row(*["---"] * (2 + len(runners))),
    ]
    for recipe, own in found.items():
        if recipe not in not_built:
            states = [_NOT_RUN if row is None else state(row) for row in own]
            lines.append(_row(f"`{recipe.model}`", recipe.task, *map(escaped, states)))
    if not_built:
        lines += ["", _NOT_BUILT, "", _row("model", "task", "cause"), _row(*["---"] * 3)]
        lines += [
            _row(f"`{recipe.model}`", recipe.task, escaped(cause))
            for recipe, cause in not_built.items()
        ]
    return "\n".join(lines) + "\n"


def without_outdated(table: Results, results: Results) -> Results:
    """Returns the table's rows, except those that stop where their model no longer does.

    A row that stops before any runner-specific stage is copied to the other runners, so a result on
    one runner replaces it on all.
    """
    stages = defaultdict(set)
    for (model, _), row in results.items():
        stages[model].add(row.stage)
    return {
        (model, runner): row
        for (model, runner), row in table.items()
        if row.ok or row.stage in (*RUNNERS_OWN, *stages[model]) or not stages[model]
    }


def read_page(text: str) -> Results:
    """Reads the rows back from the tables that `page` wrote."""
    results, _, not_built = text.partition(f"\n{_NOT_BUILT}\n")
    (_, _, *runners), _, *models = _cells(results)
    rows = {
        (model.strip("`"), runner): _row_of(model.strip("`"), runner, unescaped(cell))
        for model, _, *cells in models
        for runner, cell in zip(runners, cells, strict=True)
        if cell != _NOT_RUN
    }
    for model, _, cause in _cells(not_built)[2:]:
        for runner in runners:
            row = Row(model.strip("`"), runner, ok=False, stage="source", error=unescaped(cause))
            rows[row.model, runner] = row
    return rows


def _cells(text: str) -> list[list[str]]:
    """Returns the cells of a Markdown table, by line."""
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in text.splitlines()
        if line.startswith("| ")
    ]


def _same_on_all(results: Results, runners: Sequence[str]) -> Results:
    """Copies rows of models that stop before any runner-specific stage to the other runners."""
    return {
        (model, runner): replace(row, runner=runner)
        for (model, _), row in results.items()
        if not row.ok and row.stage not in RUNNERS_OWN
        for runner in runners
        if (model, runner) not in results
    }


def _row_of(model: str, runner: str, state: str) -> Row:
    """Returns the row for a state: the inverse of `state`."""
    stage, separator, error = state.partition(": ")
    if separator:
        return Row(model, runner, ok=False, stage=stage, error=error)
    relative = None if state == EQUAL else float(state)
    return Row(model, runner, ok=True, stage="done", max_rel_error=relative)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
