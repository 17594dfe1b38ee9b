"""Checks all recipes of a source, each model in a separate process, and writes the table.

    ./pixiw run sweep torchvision --on iree-cpu
    ./pixiw run sweep hf --on reference --again failed

Every finished row is appended to a results file. Another run only does what is missing there. When
nothing is missing, the rows are compared with the known limits of the recipes and with the models
that are not built (`limits.yaml` and `not_built.yaml` in `importers/recipes/`). If a model stops at
another stage, or no longer stops, the exit status is 1. Otherwise the table under `docs/models/` is
written. `--record` writes these files instead of comparing them, and the names of the models that
the installed library has. `--report` checks nothing and uses the existing results; missing ones are
"not run".
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from importers.recipes import Recipe, list_recipes
from importers.recipes.limits import FILE, NOT_BUILT, Limit, record_limits
from importers.sources.models import record_models
from pipelines.backends.table import DEFAULT_RUNNERS
from unmess.core.cache.folder import cache_folder
from unmess.core.files.writing import write_text
from unmess.core.processes.workers import Parent
from unmess.isolated import Options, check_together, libraries_of
from unmess.row import Row
from unmess.row_log import appending, read_rows, write_row

DOCS = Path(__file__).resolve().parents[1] / "docs" / "models"
_TITLES = {"torchvision": "torchvision", "hf": "Hugging Face"}
# The packages whose versions the results depend on.
_VERSIONS = {
    "torchvision": ("torch", "torchvision", "torch-mlir", "iree-base-compiler"),
    "hf": ("torch", "transformers", "torch-mlir", "iree-base-compiler"),
}

# The stages that depend on the runner.
_RUNNERS_OWN = ("compile", "load", "run", "compare")

_NOT_RUN, _EQUAL = "not run", "equal"
_NOT_BUILT = "## Not built"
_ESCAPES = {"|": "\\|", "<": "&lt;", "*": "\\*"}

Results = dict[tuple[str, str], Row]


def main() -> int:
    options = _options()
    runners = options.on.split(",")
    if options.record:
        record_models(options.source)
    recipes = [recipe for recipe in list_recipes() if recipe.source == options.source]
    if options.models:
        wanted = dict.fromkeys(f"{options.source}:{name}" for name in options.models)
        known = {recipe.model: recipe for recipe in recipes}
        unknown = [model for model in wanted if model not in known]
        if unknown:
            print(f"no such recipe: {', '.join(unknown)}", file=sys.stderr)
            return 2
        recipes = [known[model] for model in wanted]
    file = options.results or cache_folder() / "sweeps" / f"{options.source}.jsonl"
    path = DOCS / f"{_TITLES[options.source].lower().replace(' ', '')}.md"
    results = read(file)
    table = without_outdated(read_page(path.read_text()), results) if path.exists() else {}
    if options.from_table:
        results = table | results
    if not options.report:
        models = [recipe.model for recipe in recipes]
        sweep(models, runners, results, file, options)
    rows = [
        results[recipe.model, runner]
        for recipe in recipes
        for runner in runners
        if (recipe.model, runner) in results
    ]
    print(summary(rows))
    missing = len(recipes) * len(runners) - len(rows)
    if missing:
        print(f"{missing} checks not run yet", file=sys.stderr)
        if not options.report:
            return 1
    if options.record:
        found = {recipe.model: limits_of(recipe, results, runners) for recipe in recipes}
        for limits_file, not_built in ((FILE, False), (NOT_BUILT, True)):
            record_limits(
                {
                    model: [limit for limit in limits if (limit.stage == "source") is not_built]
                    for model, limits in found.items()
                },
                limits_file,
            )
    elif surprises := list(unexpected(recipes, results, runners)):
        print("results that differ from the recipes:", *surprises, sep="\n  ")
        return 1
    if not options.models:
        path.parent.mkdir(parents=True, exist_ok=True)
        results = without_outdated(table, results) | results
        runners = list(dict.fromkeys([*(runner for _, runner in table), *runners]))
        write_text(path, page(options.source, recipes, results, runners))
        print(f"wrote {path.relative_to(DOCS.parents[1])}", file=sys.stderr)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", choices=sorted(_TITLES))
    parser.add_argument(
        "models", nargs="*", help="names, without the source, in the order to check (default: all)"
    )
    parser.add_argument("--on", default=",".join(DEFAULT_RUNNERS), help="runners, by comma")
    parser.add_argument("--results", type=Path, help="default: under the cache folder")
    parser.add_argument(
        "--jobs",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="models checked at the same time (default: one for each processor)",
    )
    parser.add_argument("--timeout", type=float, default=600, help="seconds per model and runner")
    parser.add_argument(
        "--again", choices=("failed", "all"), help="check these again, even if there is a result"
    )
    parser.add_argument(
        "--from-table", action="store_true", help="do not check what the table has already"
    )
    parser.add_argument("--record", action="store_true", help="write the recipes' known limits")
    parser.add_argument(
        "--report", action="store_true", help="write the page from the stored results only"
    )
    return parser.parse_args()


def read(file: Path) -> Results:
    """Returns the latest row for each model and runner."""
    return {(row.model, row.runner): row for row in read_rows(file)}


def sweep(
    models: Sequence[str],
    runners: Sequence[str],
    results: Results,
    file: Path,
    options: argparse.Namespace,
) -> None:
    """Runs checks that `results` lacks, and adds their rows to `results` and to the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    work = {model: _missing(model, runners, results, options.again) for model in models}
    work = {model: missing for model, missing in work.items() if missing}
    settings = Options(timeout=options.timeout)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    parent = Parent(libraries_of(work, runners))
    with parent, progress, appending(file) as log:
        task = progress.add_task(options.source, total=len(work))
        left = {model: len(missing) for model, missing in work.items()}
        items = [(model, missing, settings) for model, missing in work.items()]
        for row in check_together(parent, items, options.jobs):
            results[row.model, row.runner] = row
            write_row(log, row)
            progress.print(
                f"{row.model} on {row.runner}: {_state(row)}", markup=False, soft_wrap=True
            )
            left[row.model] -= 1
            if not left[row.model]:
                progress.advance(task)


def _missing(model: str, runners: Sequence[str], results: Results, again: str | None) -> list[str]:
    if again == "all":
        return list(runners)
    return [
        runner
        for runner in runners
        if (row := results.get((model, runner))) is None or (again == "failed" and not row.ok)
    ]


def limits_of(recipe: Recipe, results: Results, runners: Sequence[str]) -> list[Limit]:
    """Returns where a model stops, as limits for its recipe. Stage `source` means not built."""
    run = [runner for runner in runners if (recipe.model, runner) in results]
    if not run:
        return list(recipe.stops)
    found = []
    for runner in run:
        row = results[recipe.model, runner]
        if not row.ok:
            found.append(Limit(row.stage, row.error, runner if row.stage in _RUNNERS_OWN else None))
    # Keep the limits of runners that were not run.
    elsewhere = [limit for limit in recipe.limits if limit.runner and limit.runner not in run]
    return list(dict.fromkeys([*found, *elsewhere]))


def unexpected(
    recipes: Iterable[Recipe], results: Results, runners: Sequence[str]
) -> Iterable[str]:
    """Yields a line for each model and runner that contradicts the recipe's limits."""
    for recipe in recipes:
        for runner in runners:
            if (recipe.model, runner) not in results:
                continue
            row = results[recipe.model, runner]
            stages = {limit.stage for limit in recipe.stops if limit.holds_for(runner)}
            if row.ok and stages:
                yield f"{recipe.model} on {runner} passes; known to stop in {', '.join(stages)}"
            elif not row.ok and row.stage not in stages:
                yield f"{recipe.model} on {runner}: {_state(row)}"


def summary(rows: Sequence[Row]) -> str:
    """Returns the number of models that match by runner, and the stages where others stop.

    Models that do not build or run in eager never reach the later stages, and are not counted.
    """
    lines = []
    for runner in dict.fromkeys(row.runner for row in rows):
        own = [row for row in rows if row.runner == runner and row.stage != "source"]
        matches = sum(row.ok for row in own)
        share = f" ({matches / len(own):.1%})" if own else ""
        stages = Counter(row.stage for row in own if not row.ok)
        stops = ", ".join(f"{count} in {stage}" for stage, count in stages.most_common())
        lines.append(
            f"{runner}: {matches} of {len(own)} match eager{share}"
            + (f"; stopped: {stops}" if stops else "")
        )
    return "\n".join(lines)


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
        if row.ok or row.stage in (*_RUNNERS_OWN, *stages[model]) or not stages[model]
    }


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
        f"# {_TITLES[source]}",
        "",
        f"Written by `./pixiw run sweep {source}`, with {versions}.",
        "A number is the largest difference from eager PyTorch, relative to the largest value.",
        "`iree-cpu` compiles with the default preset of each model.",
        *([f"{not_run} checks have not been run, and are not counted."] if not_run else []),
        "",
        *(f"- {line}" for line in summary(rows).splitlines()),
        *([f"- {len(not_built)} models are [not built](#not-built)"] if not_built else []),
        "",
        _row("model", "task", *runners),
        _row(*["---"] * (2 + len(runners))),
    ]
    for recipe, own in found.items():
        if recipe not in not_built:
            states = [_NOT_RUN if row is None else _state(row) for row in own]
            lines.append(_row(f"`{recipe.model}`", recipe.task, *map(_cell, states)))
    if not_built:
        lines += ["", _NOT_BUILT, "", _row("model", "task", "cause"), _row(*["---"] * 3)]
        lines += [
            _row(f"`{recipe.model}`", recipe.task, _cell(cause))
            for recipe, cause in not_built.items()
        ]
    return "\n".join(lines) + "\n"


def read_page(text: str) -> Results:
    """Reads the rows back from the tables that `page` wrote."""
    results, _, not_built = text.partition(f"\n{_NOT_BUILT}\n")
    (_, _, *runners), _, *models = _cells(results)
    rows = {
        (model.strip("`"), runner): _row_of(model.strip("`"), runner, _text(cell))
        for model, _, *cells in models
        for runner, cell in zip(runners, cells, strict=True)
        if cell != _NOT_RUN
    }
    for model, _, cause in _cells(not_built)[2:]:
        for runner in runners:
            row = Row(model.strip("`"), runner, ok=False, stage="source", error=_text(cause))
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
        if not row.ok and row.stage not in _RUNNERS_OWN
        for runner in runners
        if (model, runner) not in results
    }


def _row_of(model: str, runner: str, state: str) -> Row:
    """Returns the row for a state: the inverse of `_state`."""
    stage, separator, error = state.partition(": ")
    if separator:
        return Row(model, runner, ok=False, stage=stage, error=error)
    relative = None if state == _EQUAL else float(state)
    return Row(model, runner, ok=True, stage="done", max_rel_error=relative)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Escapes text for a cell of a Markdown table."""
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text


def _text(cell: str) -> str:
    """Unescapes a cell: the inverse of `_cell`."""
    for character, escaped in _ESCAPES.items():
        cell = cell.replace(escaped, character)
    return cell


def _state(row: Row) -> str:
    if not row.ok:
        return f"{row.stage}: {row.error}"
    # Results without floating-point elements have no relative error.
    return _EQUAL if not row.max_rel_error else f"{row.max_rel_error:.0e}"


if __name__ == "__main__":
    sys.exit(main())
