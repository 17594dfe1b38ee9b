"""Checks all recipes of a source with `unmess matrix`, and writes the table of the results.

    ./pixiw run sweep torchvision --on iree-cpu
    ./pixiw run sweep hf --on reference --again failed
    ./pixiw run sweep hf --results DIR --report

`unmess matrix` keeps the results in a folder, and only checks what is missing there. When nothing
is missing, the results are compared with the known limits of the recipes and with the models that
are not built (`limits.yaml` and `not_built.yaml` in `importers/recipes/`). If a model stops at
another stage, or no longer stops, the exit status is 1. Otherwise the table under `docs/models/` is
written. `--record` writes these files instead of comparing them, and the names of the models that
the installed library has. `--report` checks nothing and uses the existing results, such as those of
several machines; missing ones are "not run".
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from importers.recipes import Recipe, list_recipes
from importers.recipes.limits import FILE, NOT_BUILT, Limit, record_limits
from importers.sources.models import record_models
from pipelines.backends.table import DEFAULT_RUNNERS
from tools.model_pages import (
    RUNNERS_OWN,
    TITLES,
    Results,
    page,
    page_of,
    read_page,
    without_outdated,
)
from unmess.core.cache.folder import cache_folder
from unmess.core.files.writing import write_text
from unmess.core.processes import children
from unmess.matrix.cells import DEFAULT_DIALECT
from unmess.matrix.folder import read_matrix
from unmess.matrix.summary import columns_of, state


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
    folder = options.results or cache_folder() / "sweeps" / options.source
    path = page_of(options.source)
    table = read_page(path.read_text()) if path.exists() else {}
    table = without_outdated(table, read(folder))
    if not options.report:
        known = table if options.from_table else {}
        for missing, models in missing_checks(recipes, runners, known).items():
            if not run_matrix(models, missing, folder, options):
                return 2
    results = read(folder)
    if options.from_table:
        results = table | results
    rows = [
        results[recipe.model, runner]
        for recipe in recipes
        for runner in runners
        if (recipe.model, runner) in results
    ]
    print(*columns_of(rows), sep="\n")
    missing = len(recipes) * len(runners) - len(rows)
    if missing:
        print(f"{missing} checks not run yet", file=sys.stderr)
        if not options.report:
            return 1
    if options.record:
        record(recipes, results, runners)
    elif surprises := list(unexpected(recipes, results, runners)):
        print("results that differ from the recipes:", *surprises, sep="\n  ")
        return 1
    if not options.models:
        path.parent.mkdir(parents=True, exist_ok=True)
        results = without_outdated(table, results) | results
        runners = list(dict.fromkeys([*(runner for _, runner in table), *runners]))
        write_text(path, page(options.source, recipes, results, runners))
        print(f"wrote {path.relative_to(path.parents[2])}", file=sys.stderr)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", choices=sorted(TITLES))
    parser.add_argument(
        "models", nargs="*", help="names, without the source, in the order to check (default: all)"
    )
    parser.add_argument("--on", default=",".join(DEFAULT_RUNNERS), help="runners, by comma")
    parser.add_argument(
        "--results",
        type=Path,
        help="folder of `unmess matrix`; with --report, also a file of rows (default: under the "
        "cache folder)",
    )
    parser.add_argument("--jobs", help="as for `unmess matrix`")
    parser.add_argument("--timeout", help="as for `unmess matrix`")
    parser.add_argument("--again", choices=("failed", "all"), help="as for `unmess matrix`")
    parser.add_argument(
        "--from-table", action="store_true", help="do not check what the table has already"
    )
    parser.add_argument("--record", action="store_true", help="write the recipes' known limits")
    parser.add_argument(
        "--report", action="store_true", help="write the page from the stored results only"
    )
    return parser.parse_args()


def missing_checks(
    recipes: Iterable[Recipe], runners: Sequence[str], known: Results
) -> dict[tuple[str, ...], list[str]]:
    """Returns the models to check by the runners that have no known result, in their order."""
    found: dict[tuple[str, ...], list[str]] = {}
    for recipe in recipes:
        missing = tuple(runner for runner in runners if (recipe.model, runner) not in known)
        if missing:
            found.setdefault(missing, []).append(recipe.model)
    return found


def run_matrix(
    models: Sequence[str], runners: Sequence[str], folder: Path, options: argparse.Namespace
) -> bool:
    """Runs `unmess matrix`. Returns False if it refuses to, or is interrupted."""
    passed_on = {name: getattr(options, name) for name in ("jobs", "timeout", "again")}
    arguments = [
        *("matrix", "--json", "-o", str(folder)),
        *("--on", ",".join(runners), "--via", DEFAULT_DIALECT),
        *(f"--models={model}" for model in models),
        *(f"--{name}={value}" for name, value in passed_on.items() if value is not None),
    ]
    done = subprocess.run(
        children.command("unmess", *arguments),
        stdout=subprocess.PIPE,
        text=True,
        env=children.environment(),
    )
    try:
        # On success a list of rows, else an error. The messages went to stderr.
        return isinstance(json.loads(done.stdout), list) and done.returncode <= 3
    except json.JSONDecodeError:
        return False


def read(folder: Path) -> Results:
    """Returns the results of a matrix by model and runner; none of a missing or empty folder.

    These are the results of the backend's default output dialect, or else those of linalg, which
    are the same.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return {}
    rows = [row for row in read_matrix(folder).values() if row.via in (None, "linalg")]
    rows.sort(key=lambda row: row.via is None)
    return {(row.model, row.runner): replace(row, via=None) for row in rows}


def record(recipes: Iterable[Recipe], results: Results, runners: Sequence[str]) -> None:
    """Writes the limits of the recipes, and the models that are not built."""
    found: Mapping[str, list[Limit]] = {
        recipe.model: limits_of(recipe, results, runners) for recipe in recipes
    }
    for limits_file, not_built in ((FILE, False), (NOT_BUILT, True)):
        record_limits(
            {
                model: [limit for limit in limits if (limit.stage == "source") is not_built]
                for model, limits in found.items()
            },
            limits_file,
        )


def limits_of(recipe: Recipe, results: Results, runners: Sequence[str]) -> list[Limit]:
    """Returns where a model stops, as limits for its recipe. Stage `source` means not built."""
    run = [runner for runner in runners if (recipe.model, runner) in results]
    if not run:
        return list(recipe.stops)
    found = []
    for runner in run:
        row = results[recipe.model, runner]
        if not row.ok:
            found.append(Limit(row.stage, row.error, runner if row.stage in RUNNERS_OWN else None))
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
                yield f"{recipe.model} on {runner}: {state(row)}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
