"""Compares the text that tiny models generate with transformers' `generate`, and writes a table.

    ./pixiw run generation-models                  all types of transformers that generate text
    ./pixiw run generation-models hf:llama hf:t5   these types, in this order
    ./pixiw run generation-models --again failed

Each model generates on the reference runner. Each has a process of its own.
The tool saves each result at once. A later run checks only models without a result, and those that
`--again` selects.
Without MODEL, the page `docs/models/generation.md` is written; models without a result are not
counted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from importers.sources.huggingface.recomputed_text import RECOMPUTED  # noqa: E402
from importers.sources.huggingface.tasks import text_generating_classes  # noqa: E402
from tools.sweeps import add_model_options  # noqa: E402
from unmess.core.cache.folder import cache_folder  # noqa: E402
from unmess.core.files.writing import write_text  # noqa: E402
from unmess.core.processes.workers import Died, Parent, each_in_workers  # noqa: E402
from unmess.generation_check import NEW_TOKENS, PROMPTS, ROUNDING, GenerationCheck  # noqa: E402
from unmess.isolated import libraries_of  # noqa: E402
from unmess.pages.markdown import escaped  # noqa: E402
from unmess.row_log import appending, read_rows, write_row  # noqa: E402

PAGE = ROOT / "docs" / "models" / "generation.md"
# The packages whose versions the results depend on.
_VERSIONS = ("torch", "transformers", "torch-mlir")
_RUNNER = "reference"

_HEADER = """\
# Generated text by model type

Written by `./pixiw run generation-models`, with {versions}; do not edit. [Text
generation](../generation.md) on the reference runner is compared with `generate` of transformers.

The types are those for which transformers has a class for causal language modeling, for
translation and the like, or for speech recognition. Each is a tiny model with random weights.
Both generate up to {tokens} tokens greedily after prompts of {lengths} tokens, or after two sounds.
"right" means that all tokens are equal, and that the logits before each differ by at most
{rounding} of the largest. The number is the largest such difference. "tokens" is the number of
different tokens in the texts: random weights often repeat one, so the logits are compared, too.
Some models do not run with [a cache of fixed size](../generation.md#models-without-such-a-cache):
for these, every step computes the whole text again.
"""
# Headings of types that are not compared, with the stages in which they stop.
_NOT_COUNTED = {
    "The tiny model does not run in transformers' own generate": "eager",
    "There is no tiny model": "source",
}

# The latest result by model.
Results = dict[str, GenerationCheck]


def main() -> int:
    options = _options()
    types = {f"hf:{name}": class_name for name, class_name in text_generating_classes().items()}
    unknown = [model for model in options.models if model not in types]
    if unknown:
        print(f"not a type that generates text: {', '.join(unknown)}", file=sys.stderr)
        return 2
    file = options.results or cache_folder() / "sweeps" / "generation-models.jsonl"
    results = {each.model: each for each in read_rows(file, GenerationCheck)}
    if not options.report:
        file.parent.mkdir(parents=True, exist_ok=True)
        models = {model: types[model] for model in options.models or types}
        libraries = (*libraries_of(models, (_RUNNER,)), "unmess.generation_check")
        with Parent(libraries) as parent, appending(file) as log:
            run_missing(parent, models, results, log, options)
    chosen = options.models or types
    print(*totals([results[model] for model in chosen if model in results]), sep="\n")
    if not options.models:
        write_text(PAGE, page(list(types), results))
        print(f"wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_model_options(parser, "all types")
    return parser.parse_args()


def run_missing(
    parent: Parent,
    models: Mapping[str, str],
    results: Results,
    log: TextIO,
    options: argparse.Namespace,
) -> None:
    """Runs models that `results` lacks, one by one; adds the results to it and to the file.

    Args:
        models: the class name of each.
    """
    for number, (model, class_name) in enumerate(models.items(), 1):
        found = results.get(model)
        is_wanted = options.again == "all" or (options.again == "failed" and found and not found.ok)
        if found is not None and not is_wanted:
            continue
        work = (model.removeprefix("hf:"), class_name, _RUNNER, options.memory)
        function = "unmess.generation_check:check_generation"
        (check,) = each_in_workers(parent, [work], function, options.timeout)
        if isinstance(check, Died):
            check = GenerationCheck(model, class_name, stage="crash", error=check.cause)
        results[model] = check
        write_row(log, check)
        print(f"{number}/{len(models)} {model}: {_state(check)}", file=sys.stderr)


def totals(checks: Sequence[GenerationCheck]) -> Iterator[str]:
    """Yields lines with the numbers of right, different and refused types."""
    compared = [each for each in checks if each.has_reference]
    if compared:
        right = sum(each.ok for each in compared)
        differs = sum(each.stage == "compare" for each in compared)
        again = sum(each.ok and bool(each.notes) for each in compared)
        yield (
            f"{right} of {len(compared)} types are right ({right / len(compared):.1%}), {again} of "
            f"them without a cache of keys and values; {differs} differ; "
            f"{len(compared) - right - differs} are refused or fail"
        )
    for heading, stage in _NOT_COUNTED.items():
        if missing := sum(each.stage == stage for each in checks if not each.has_reference):
            yield f"{missing} types are not counted: {heading[0].lower()}{heading[1:]}"


def page(models: Sequence[str], results: Results) -> str:
    """Returns the page as Markdown."""
    versions = ", ".join(f"{name} {version(name)}" for name in _VERSIONS)
    lengths = f"{', '.join(map(str, PROMPTS[:-1]))} and {PROMPTS[-1]}"
    found = [results[model] for model in models if model in results]
    not_run = len(models) - len(found)
    lines = [
        _HEADER.format(versions=versions, tokens=NEW_TOKENS, lengths=lengths, rounding=ROUNDING),
        *(f"- {line}" for line in totals(found)),
        *([f"- {not_run} types have not been run, and are not counted"] if not_run else []),
        "",
        "| type | class | unmess | tokens |",
        "| --- | --- | --- | --- |",
    ]
    for check in found:
        if check.has_reference:
            state = _state(check) + (f"; {RECOMPUTED}" if check.notes else "")
            cells = [f"`{check.model}`", check.class_name, state, str(check.tokens)]
            lines.append(f"| {' | '.join(map(escaped, cells))} |")
    for heading, stage in _NOT_COUNTED.items():
        lines += ["", f"## {heading}", "", "| type | class | error |", "| --- | --- | --- |"]
        for check in found:
            if not check.has_reference and check.stage == stage:
                cells = [f"`{check.model}`", check.class_name, f"{check.error}"]
                lines.append(f"| {' | '.join(map(escaped, cells))} |")
    return "\n".join(lines) + "\n"


def _state(check: GenerationCheck) -> str:
    if check.ok:
        return f"right, {check.max_rel_error:.0e}"
    kind = {"compare": "differs", "crash": "crashes"}.get(check.stage, f"refused at {check.stage}")
    return f"{kind}: {check.error}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
