"""Checks all recipes of a source, each model in a process of its own, and writes the table.

    ./pixiw run sweep torchvision --on iree-cpu
    ./pixiw run sweep hf --on reference --again failed

Every row is appended to a results file when it is finished; run it again and it goes on with what
is missing there. When nothing is missing, the table under `docs/models/` is written, and the
result is held against the known limits of the recipes (`importers/recipes/limits.yaml`): a model
that stops elsewhere, or no longer stops, makes exit status 1. `--record` writes them instead.
`--report` checks nothing, and takes the results as they are: what is missing is "not run".
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from importers.recipes import Recipe, list_recipes
from importers.recipes.limits import Limit, record_limits
from tools.row_log import read_rows, write_row
from unmess.core.cache import cache_folder
from unmess.core.names import DEFAULT_RUNNERS
from unmess.core.row import Row
from unmess.isolated import Options, check_isolated

DOCS = Path(__file__).resolve().parents[1] / "docs" / "models"
_TITLES = {"torchvision": "torchvision", "hf": "Hugging Face"}
# The packages whose versions decide what a table says.
_VERSIONS = {
    "torchvision": ("torch", "torchvision", "torch-mlir", "iree-base-compiler"),
    "hf": ("torch", "transformers", "torch-mlir", "iree-base-compiler"),
}

# The stages in which runners differ.
_RUNNERS_OWN = ("compile", "load", "run", "compare")

Results = dict[tuple[str, str], Row]


def main() -> int:
    options = _options()
    runners = options.on.split(",")
    recipes = [recipe for recipe in list_recipes() if recipe.source == options.source]
    if options.models:
        wanted = {f"{options.source}:{name}" for name in options.models}
        unknown = wanted - {recipe.model for recipe in recipes}
        if unknown:
            print(f"no such recipe: {', '.join(sorted(unknown))}", file=sys.stderr)
            return 2
        recipes = [recipe for recipe in recipes if recipe.model in wanted]
    file = options.results or cache_folder() / "sweeps" / f"{options.source}.jsonl"
    results = read(file)
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
        record_limits({recipe.model: limits_of(recipe, results, runners) for recipe in recipes})
    elif surprises := list(unexpected(recipes, results, runners)):
        print("not as the recipes say:", *surprises, sep="\n  ")
        return 1
    if not options.models:
        path = DOCS / f"{_TITLES[options.source].lower().replace(' ', '')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(options.source, recipes, results, runners))
        print(f"wrote {path.relative_to(DOCS.parents[1])}", file=sys.stderr)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", choices=sorted(_TITLES))
    parser.add_argument("models", nargs="*", help="names, without the source (default: all)")
    parser.add_argument("--on", default=",".join(DEFAULT_RUNNERS), help="runners, by comma")
    parser.add_argument("--results", type=Path, help="default: under the cache folder")
    parser.add_argument("--timeout", type=float, default=600, help="seconds per model and runner")
    parser.add_argument(
        "--again", choices=("failed", "all"), help="check these again, though there is a result"
    )
    parser.add_argument("--record", action="store_true", help="write the recipes' known limits")
    parser.add_argument("--report", action="store_true", help="check nothing, use what is there")
    return parser.parse_args()


def read(file: Path) -> Results:
    """The latest row of every model and runner."""
    return {(row.model, row.runner): row for row in read_rows(file)}


def sweep(
    models: Sequence[str],
    runners: Sequence[str],
    results: Results,
    file: Path,
    options: argparse.Namespace,
) -> None:
    """Checks what is missing in `results`, and adds it there and to the file."""
    _preload()
    file.parent.mkdir(parents=True, exist_ok=True)
    work = {model: _missing(model, runners, results, options.again) for model in models}
    work = {model: missing for model, missing in work.items() if missing}
    settings = Options(timeout=options.timeout, forked=True)
    # Without a thread of its own: this process is forked.
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
    )
    with progress, file.open("a") as log:
        task = progress.add_task(options.source, total=len(work))
        for model, missing in work.items():
            progress.update(task, description=model, refresh=True)
            for row in check_isolated(
                model,
                missing,
                settings,
                on_stage=lambda _stage, _runner: None,
                on_output=lambda _line: None,
            ):
                results[row.model, row.runner] = row
                write_row(log, row)
                progress.print(
                    f"{row.model} on {row.runner}: {_state(row)}", markup=False, soft_wrap=True
                )
            progress.advance(task)


def _preload() -> None:
    """Imports what the checks need, once for all of them."""
    import torch_mlir.ir  # noqa: F401
    import torchvision  # noqa: F401
    import transformers.modeling_utils  # noqa: F401

    import unmess  # noqa: F401


def _missing(model: str, runners: Sequence[str], results: Results, again: str | None) -> list[str]:
    if again == "all":
        return list(runners)
    return [
        runner
        for runner in runners
        if (row := results.get((model, runner))) is None or (again == "failed" and not row.ok)
    ]


def limits_of(recipe: Recipe, results: Results, runners: Sequence[str]) -> list[Limit]:
    """Where a model stops, as limits of its recipe."""
    run = [runner for runner in runners if (recipe.model, runner) in results]
    if not run:
        return list(recipe.limits)
    found = []
    for runner in run:
        row = results[recipe.model, runner]
        if not row.ok:
            found.append(Limit(row.stage, row.error, runner if row.stage in _RUNNERS_OWN else None))
    # What other runners are known to do is not in question here.
    elsewhere = [limit for limit in recipe.limits if limit.runner and limit.runner not in run]
    return list(dict.fromkeys([*found, *elsewhere]))


def unexpected(
    recipes: Iterable[Recipe], results: Results, runners: Sequence[str]
) -> Iterable[str]:
    """A line for each model that does not do what its recipe says."""
    for recipe in recipes:
        for runner in runners:
            if (recipe.model, runner) not in results:
                continue
            row = results[recipe.model, runner]
            stages = {limit.stage for limit in recipe.limits if limit.holds_for(runner)}
            if row.ok and stages:
                yield f"{recipe.model} on {runner} passes; known to stop in {', '.join(stages)}"
            elif not row.ok and row.stage not in stages:
                yield f"{recipe.model} on {runner}: {_state(row)}"


def summary(rows: Sequence[Row]) -> str:
    """How many models match, by runner, and where the others stop."""
    lines = []
    for runner in dict.fromkeys(row.runner for row in rows):
        own = [row for row in rows if row.runner == runner]
        # What does not build, or does not run in eager, says nothing about the stages after.
        runs = [row for row in own if row.stage != "source"]
        matches = sum(row.ok for row in own)
        share = f"{matches / len(runs):.1%}" if runs else "none"
        stages = Counter(row.stage for row in own if not row.ok)
        stops = ", ".join(f"{count} in {stage}" for stage, count in stages.most_common())
        lines.append(
            f"{runner}: {matches} of {len(own)} match eager, {share} of the {len(runs)} that build "
            f"and run in eager" + (f"; stopped: {stops}" if stops else "")
        )
    return "\n".join(lines)


def page(source: str, recipes: Sequence[Recipe], results: Results, runners: Sequence[str]) -> str:
    """The table as Markdown: a row for each model, and why it stops where it does."""
    every = [results.get((recipe.model, runner)) for recipe in recipes for runner in runners]
    rows = [row for row in every if row is not None]
    not_run = every.count(None)
    versions = ", ".join(f"{name} {version(name)}" for name in _VERSIONS[source])
    lines = [
        f"# {_TITLES[source]}",
        "",
        f"Written by `./pixiw run sweep {source} --on {','.join(runners)}`, with {versions}.",
        "A number is the largest difference from eager PyTorch, relative to the largest value.",
        *([f"{not_run} checks have not been run, and are not counted."] if not_run else []),
        "",
        *(f"- {line}" for line in summary(rows).splitlines()),
        "",
        "| model | task | " + " | ".join(runners) + " |",
        "| --- | --- |" + " --- |" * len(runners),
    ]
    for recipe in recipes:
        found = [results.get((recipe.model, runner)) for runner in runners]
        states = ["not run" if row is None else _state(row) for row in found]
        cells = [f"`{recipe.model}`", recipe.task, *(_cell(state) for state in states)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text in a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _state(row: Row) -> str:
    if not row.ok:
        return f"{row.stage}: {row.error}"
    # A result of integers, or of nothing at all, has no relative error.
    return "equal" if not row.max_rel_error else f"{row.max_rel_error:.0e}"


if __name__ == "__main__":
    sys.exit(main())
