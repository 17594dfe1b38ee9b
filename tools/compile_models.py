"""Compares the models of recipes under `torch.compile` with eager PyTorch, and writes a table.

    ./pixiw run compile-models                    all recipes of hf and torchvision
    ./pixiw run compile-models hf:bert hf:gpt2    these models, in this order
    ./pixiw run compile-models --again failed

Each model runs with `torch.compile(model, backend="unmess")` on the reference runner, with
fallback to eager. Two calls with the recipe's example arguments are compared with eager. A model
that stops or has a wrong result runs with Inductor, too. Each model has a process of its own.
The tool saves each result at once. A later run checks only models without a result, and those that
`--again` selects.
Without MODEL, the page `docs/models/torch-compile.md` is written; models without a result are not
counted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from importers.recipes import Recipe, list_recipes  # noqa: E402
from tools.sweeps import add_model_options  # noqa: E402
from unmess.core.cache.folder import cache_folder  # noqa: E402
from unmess.core.files.writing import write_text  # noqa: E402
from unmess.core.processes.workers import Died, Parent, each_in_workers  # noqa: E402
from unmess.isolated import libraries_of  # noqa: E402
from unmess.pages.markdown import escaped  # noqa: E402
from unmess.row_log import appending, read_rows, write_row  # noqa: E402
from unmess.torch_compile.model_check import ModelCheck  # noqa: E402

PAGE = ROOT / "docs" / "models" / "torch-compile.md"
# The packages whose versions the results depend on.
_VERSIONS = ("torch", "torchvision", "transformers", "torch-mlir")
_SOURCES = {"hf": "Hugging Face", "torchvision": "torchvision"}

# The largest number of models that the page lists for a cause.
_SHOWN = 8
_HEADER = """\
# Models under torch.compile

Written by `./pixiw run compile-models`, with {versions}; do not edit. Each recipe runs under
[`torch.compile(model, backend="unmess")`](../torch-compile.md) on the reference runner, with the
default fallback to eager. Two calls with the recipe's example arguments are compared with eager
PyTorch, within the [usual bounds](../comparison.md). Models that stop or differ run with Inductor,
too.

A number in the column "unmess" is the largest difference, relative to the largest value. "compiled"
is the share of the floating-point operations of a call that run in compiled regions. The rest runs
in eager: operators that do not compile, random operators, what TorchDynamo leaves out at a graph
break, and functions that it has compiled 8 times already (`torch._dynamo.config.recompile_limit`).
"graphs" is the number of graphs that TorchDynamo makes of the model, and "compile, s" the time of
the first call.
"""

# The latest result by model and compiler.
Results = dict[tuple[str, str], ModelCheck]


def main() -> int:
    options = _options()
    recipes = {
        recipe.model: recipe
        for source in _SOURCES
        for recipe in list_recipes()
        if recipe.source == source and recipe.not_built is None
    }
    unknown = [model for model in options.models if model not in recipes]
    if unknown:
        print(f"no such recipe: {', '.join(unknown)}", file=sys.stderr)
        return 2
    file = options.results or cache_folder() / "sweeps" / "compile-models.jsonl"
    results = {(each.model, each.compiler): each for each in read_rows(file, ModelCheck)}
    if not options.report:
        file.parent.mkdir(parents=True, exist_ok=True)
        models = options.models or list(recipes)
        with Parent(_libraries(models)) as parent, appending(file) as log:
            run_missing(parent, models, results, log, options)
    chosen = options.models or recipes
    print(*totals([results[key] for key in results if key[0] in chosen]), sep="\n")
    if not options.models:
        write_text(PAGE, page(list(recipes.values()), results))
        print(f"wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_model_options(parser, "all recipes")
    return parser.parse_args()


def _libraries(models: Sequence[str]) -> tuple[str, ...]:
    own = ("unmess.torch_compile.model_check", "unmess.torch_compile.backend")
    return (*libraries_of(models, ("reference",)), *own)


def run_missing(
    parent: Parent,
    models: Sequence[str],
    results: Results,
    log: TextIO,
    options: argparse.Namespace,
) -> None:
    """Runs models that `results` lacks, one by one; adds the results to it and to the file."""
    for number, model in enumerate(models, 1):
        found = results.get((model, "unmess"))
        is_wanted = options.again == "all" or (options.again == "failed" and found and not found.ok)
        if found is not None and not is_wanted:
            continue
        for compiler in ("unmess", "inductor"):
            check = _run(parent, model, compiler, options)
            results[model, compiler] = check
            write_row(log, check)
            print(f"{number}/{len(models)} {model} {compiler}: {_state(check)}", file=sys.stderr)
            # Whether Inductor is right matters only for models that unmess does not run.
            if check.ok or check.stage in ("source", "eager"):
                break


def _run(parent: Parent, model: str, compiler: str, options: argparse.Namespace) -> ModelCheck:
    work = (model, compiler, options.memory)
    function = "unmess.torch_compile.model_check:check_model"
    (found,) = each_in_workers(parent, [work], function, options.timeout)
    if isinstance(found, Died):
        return ModelCheck(model, compiler, stage="crash", error=found.cause)
    return found


def totals(checks: Sequence[ModelCheck]) -> Iterator[str]:
    """Yields the totals of each source, and the number of models that match only with Inductor."""
    for source, title in _SOURCES.items():
        own = [each for each in checks if each.model.startswith(f"{source}:")]
        run = [each for each in own if each.compiler == "unmess" and _counts(each)]
        if not run:
            continue
        right = [each for each in run if each.ok]
        whole = sum(each.share == 1.0 for each in right)
        stages = Counter(each.stage for each in run if not each.ok)
        stopped = "".join(f"; {count} stop in {stage}" for stage, count in stages.items())
        yield (
            f"{title}: {len(right)} of {len(run)} match eager ({len(right) / len(run):.1%}), "
            f"{whole} of them with all floating-point operations compiled{stopped}"
        )
        shares = [each.share for each in right if each.graphs]
        if shares:
            yield (
                f"{title}: of the models that match, {len(right) - len(shares)} have no compiled "
                f"graph; in the others, {sum(shares) / len(shares):.1%} of the operations are "
                f"compiled on average, and at least {min(shares):.1%}"
            )
        failed = {each.model for each in run if not each.ok}
        behind = sum(
            each.compiler == "inductor" and each.ok and each.model in failed for each in own
        )
        yield f"{title}: Inductor matches eager and unmess does not for {behind} models"
        refused = sum(each.stage == "eager" for each in own)
        if refused:
            yield f"{title}: eager PyTorch fails for {refused} models, which are not counted"


def page(recipes: Sequence[Recipe], results: Results) -> str:
    """Returns the page as Markdown."""
    versions = ", ".join(f"{name} {version(name)}" for name in _VERSIONS)
    found = {recipe: results.get((recipe.model, "unmess")) for recipe in recipes}
    not_run = sum(check is None for check in found.values())
    known = {recipe.model for recipe in recipes}
    lines = [
        _HEADER.format(versions=versions),
        *(f"- {line}" for line in totals([c for c in results.values() if c.model in known])),
        *([f"- {not_run} models have not been run, and are not counted"] if not_run else []),
        "",
        "| model | task | unmess | compiled | graphs | compile, s | Inductor |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for recipe, check in found.items():
        if check is None:
            continue
        other = results.get((recipe.model, "inductor")) if not check.ok else None
        cells = [
            f"`{recipe.model}`",
            recipe.task,
            _state(check),
            "" if check.share is None else _percent(check.share),
            str(check.graphs or ""),
            f"{check.seconds['compile']:.0f}" if "compile" in check.seconds else "",
            "" if other is None else _state(other),
        ]
        lines.append(f"| {' | '.join(map(escaped, cells))} |")
    lines += ["", "## Operators that run in eager", "", *_causes(found.values(), "outside")]
    lines += ["", "## Graph breaks", "", *_causes(found.values(), "breaks")]
    return "\n".join(lines) + "\n"


def _counts(check: ModelCheck) -> bool:
    return check.stage not in ("source", "eager")


def _state(check: ModelCheck) -> str:
    if check.ok:
        return "equal" if check.max_rel_error == 0 else f"{check.max_rel_error:.0e}"
    place = f" at {check.where}" if check.where else ""
    return f"{check.stage}: {check.error}{place}"


def _percent(share: float) -> str:
    """Returns a percentage. Only an exact 1 is 100%."""
    return "100%" if share == 1.0 else f"{min(share, 0.999):.1%}"


def _causes(checks: Iterable[ModelCheck | None], what: str) -> Iterator[str]:
    """Yields a line for each cause, the most frequent first, with its models."""
    models: Mapping[str, list[str]] = defaultdict(list)
    for check in checks:
        for cause in getattr(check, what, ()):
            models[cause].append(check.model)
    if not models:
        yield "None."
    for cause, found in sorted(models.items(), key=lambda item: (-len(item[1]), item[0])):
        shown = ", ".join(f"`{model}`" for model in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        yield f"- {escaped(cause)}: {shown}{more}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
