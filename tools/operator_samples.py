"""Runs PyTorch's own operator samples, compares with eager, and writes a table.

    ./pixiw run operator-samples                  all samples
    ./pixiw run operator-samples linalg --count 1 operators with this text in their names
    ./pixiw run operator-samples --on reference   one runner only

Each sample is captured, lowered and run on both CPU runners, and compared with eager: every
float32 sample, and up to five of other dtypes. Results are saved after each group of samples.
Another run only does what is missing, or what `--again` selects. Without TEXT, writes the page
`docs/operators/samples.md` from all results, and the known limits of the samples in the tests.

With `--torch-compile`, each sample runs under `torch.compile(…, backend="unmess")` instead, with
fallback to eager and without, and with dynamic sizes, on the reference runner; the page is
`docs/operators/torch-compile.md`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "e2e" / "ops")]

from operator_samples import (  # noqa: E402
    FURTHER_DTYPES,
    LIMITS_FILE,
    MAIN_DTYPE,
    OPERATORS,
    OperatorSample,
    dtypes_of,
    samples_of,
    tested_samples,
)

from importers.recipes.limits import Limit, record_limits  # noqa: E402
from tools.sweeps import Results, add_options, run_missing  # noqa: E402
from unmess.conformance.operators.case import RUNNERS  # noqa: E402
from unmess.conformance.operators.outcomes import Outcome, outcomes  # noqa: E402
from unmess.conformance.operators.torch_compile import (  # noqa: E402
    WAYS,
    torch_compile_outcomes,
)
from unmess.core.cache.folder import cache_folder  # noqa: E402
from unmess.core.errors.quiet import quiet_libraries  # noqa: E402
from unmess.core.files.writing import write_text  # noqa: E402
from unmess.isolated import libraries_of  # noqa: E402
from unmess.row import Row  # noqa: E402
from unmess.row_log import read_rows  # noqa: E402

PAGES = ROOT / "docs" / "operators"
# The packages whose versions the results depend on.
_VERSIONS = ("torch", "torch-mlir", "iree-base-compiler")
_HEADER = """\
# PyTorch's own samples of its operators

Written by `./pixiw run operator-samples`, with {versions}; do not edit. PyTorch tests its operators
on the samples of `op_db` (`torch.testing._internal.common_methods_invocations`). Each of them is
captured, lowered, and run on the reference runner and on IREE on the CPU; the result is compared
with eager PyTorch. Random operators are compared by distribution, `empty` and similar operators by
shape and dtype, factors of matrices up to their free signs and phases.

A cell is the number of right samples, of those that were run. An operator counts as right if all of
its samples that were run are right. Samples that eager PyTorch rejects are not included, nor is
`matrix_exp` of bf16, which eager computes wrongly, nor are histograms with edges out of order,
whose results are not defined.
"""
_TORCH_COMPILE_HEADER = """\
# PyTorch's own samples of its operators under torch.compile

Written by `./pixiw run operator-samples --torch-compile`, with {versions}; do not edit. PyTorch
tests its operators on the samples of `op_db`
(`torch.testing._internal.common_methods_invocations`). Each of them runs under
[`torch.compile(…, backend="unmess")`](../torch-compile.md) on the reference runner, and the result
is compared with eager PyTorch. "With fallback" is the default: operators that do not lower run in
eager. With dynamic sizes, the sizes of all arguments are dynamic (`dynamic=True`). "Without
fallback" is `fullgraph=True` and `options={{"fallback": None}}`: everything is
compiled, or it is an error.

Random operators are compared with eager at the same seed; without fallback, by distribution.
`empty` and similar operators are compared by shape and dtype, factors of matrices up to their free
signs and phases. A cell is the number of right samples, of those that were run.
"""


@dataclass(frozen=True)
class Kind:
    """A way to run the samples.

    Attributes:
        columns: the runners, or what takes their place.
        run: returns the outcomes of a group of samples.
        page: the file name of the page.
        header: the beginning of the page.
        rows: the file name of the results.
    """

    columns: tuple[str, ...]
    run: Callable[..., list[Outcome]]
    page: str
    header: str
    rows: str


EXPORT = Kind(RUNNERS, outcomes, "samples.md", _HEADER, "operator-samples.jsonl")
TORCH_COMPILE = Kind(
    tuple(WAYS),
    torch_compile_outcomes,
    "torch-compile.md",
    _TORCH_COMPILE_HEADER,
    "torch-compile-samples.jsonl",
)


def main() -> int:
    options = _options()
    operators = [
        name for name in OPERATORS if not options.text or any(text in name for text in options.text)
    ]
    kind = TORCH_COMPILE if options.torch_compile else EXPORT
    if options.on:
        if options.torch_compile:
            print("--on cannot be combined with --torch-compile", file=sys.stderr)
            return 2
        kind = replace(kind, run=partial(outcomes, runners=options.on))
    file = options.results or cache_folder() / "sweeps" / kind.rows
    results = {(row.model, row.runner): row for row in read_rows(file)}
    if not options.report:
        quiet_libraries()
        columns = options.on or kind.columns
        libraries = (*libraries_of((), RUNNERS), "operator_samples")
        named = {str(sample): sample for sample in _wanted(operators, options)}
        run_missing(named, columns, kind.run, libraries, results, file, options)
    if not options.text:
        if not options.torch_compile:
            tested = [str(sample) for sample in tested_samples()]
            record_limits({name: limits_of(name, results) for name in tested}, LIMITS_FILE)
        PAGES.mkdir(exist_ok=True)
        write_text(PAGES / kind.page, page(results, kind))
        print(f"wrote {(PAGES / kind.page).relative_to(ROOT)}", file=sys.stderr)
    else:
        chosen = {key: row for key, row in results.items() if _sample(row).operator in operators}
        print("\n".join(stops(chosen, kind)))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "text",
        nargs="*",
        help="run the operators whose names contain one of these texts (default: all)",
    )
    parser.add_argument(
        "--dtype", choices=(MAIN_DTYPE, *FURTHER_DTYPES), action="append", help="default: all"
    )
    parser.add_argument(
        "--count", type=int, help="maximum number of samples for each operator and dtype"
    )
    parser.add_argument(
        "--on", choices=RUNNERS, action="append", help="run on this runner only (default: all)"
    )
    parser.add_argument(
        "--torch-compile",
        action="store_true",
        help="run the samples under torch.compile with the backend unmess",
    )
    add_options(parser, "samples")
    return parser.parse_args()


def _wanted(operators: Sequence[str], options: argparse.Namespace) -> Iterator[OperatorSample]:
    for operator in operators:
        for dtype in dtypes_of(operator):
            if options.dtype is None or dtype in options.dtype:
                yield from samples_of(operator, dtype, options.count)


def limits_of(name: str, results: Results) -> list[Limit]:
    """Returns the limits of a sample; a single one if all runners fail in the same way."""
    rows = [results[name, runner] for runner in RUNNERS if (name, runner) in results]
    found = [(row, Limit(row.stage, row.error)) for row in rows if not row.ok]
    if len(found) == len(RUNNERS) and len({limit for _, limit in found}) == 1:
        return [found[0][1]]
    return [replace(limit, runner=row.runner) for row, limit in found]


def page(results: Mapping[tuple[str, str], Row], kind: Kind = EXPORT) -> str:
    """Returns the page as Markdown."""
    versions = ", ".join(f"{name} {version(name)}" for name in _VERSIONS)
    kept = {key: row for key, row in results.items() if row.stage != "eager"}
    lines = [kind.header.format(versions=versions), *_summary(kept, kind.columns)]
    lines += ["", "## Operators", ""]
    columns = [
        f"{dtypes}, {column}" for dtypes in (MAIN_DTYPE, "others") for column in kind.columns
    ]
    lines += [f"| operator | {' | '.join(columns)} |", "| --- |" + " --- |" * len(columns)]
    counts: dict[str, Counter] = defaultdict(Counter)
    for row in kept.values():
        sample = _sample(row)
        column = f"{sample.dtype if sample.dtype == MAIN_DTYPE else 'others'}, {row.runner}"
        counts[sample.operator][column, row.ok] += 1
    for operator in (name for name in OPERATORS if name in counts):
        found = counts[operator]
        cells = [_cell(found[column, True], found[column, False]) for column in columns]
        lines.append(f"| `{operator}` | {' | '.join(cells)} |")
    return "\n".join([*lines, "", "## Samples that fail", "", *stops(kept, kind)]) + "\n"


def _cell(right: int, other: int) -> str:
    if not right + other:
        return ""
    return f"{right}" if not other else f"**{right} of {right + other}**"


def _summary(results: Mapping[tuple[str, str], Row], runners: Sequence[str]) -> Iterator[str]:
    yield (
        "| dtype | operators | "
        + " | ".join(
            f"{what}, {runner}"
            for runner in runners
            for what in ("samples", "operators right", "wrong results")
        )
        + " |"
    )
    yield "| --- |" + " --- |" * (1 + 3 * len(runners))
    by_dtype = defaultdict(list)
    for row in results.values():
        by_dtype[_sample(row).dtype].append(row)
    for dtype in (dtype for dtype in (MAIN_DTYPE, *FURTHER_DTYPES) if dtype in by_dtype):
        rows = by_dtype[dtype]
        operators = {_sample(row).operator for row in rows}
        cells = [dtype, str(len(operators))]
        for runner in runners:
            own = [row for row in rows if row.runner == runner]
            run = {_sample(row).operator for row in own}
            right = len(run - {_sample(row).operator for row in own if not row.ok})
            wrong = sum(row.stage == "compare" for row in own)
            of = "" if run == operators else f" of {len(run)}"
            share = f"{right}{of} ({right / len(run):.1%})" if run else ""
            cells += [str(len(own)), share, str(wrong)] if run else [""] * 3
        yield f"| {' | '.join(cells)} |"


def stops(results: Mapping[tuple[str, str], Row], kind: Kind = EXPORT) -> Iterator[str]:
    """Yields a line per operator and cause, with dtypes, the number of samples, and runners."""
    found: dict[tuple[str, str], dict[str, list[OperatorSample]]] = {}
    for row in results.values():
        if not row.ok:
            text = f"{row.stage}: {row.error}"
            sample = _sample(row)
            of_runner = found.setdefault((sample.operator, text), {})
            of_runner.setdefault(row.runner, []).append(sample)
    for (operator, text), by_runner in sorted(found.items()):
        samples = {sample for each in by_runner.values() for sample in each}
        dtypes = ", ".join(dict.fromkeys(sample.dtype for sample in samples))
        place = "" if len(by_runner) == len(kind.columns) else f", {', '.join(by_runner)} only"
        text = text.replace("|", "\\|").replace("<", "\\<")
        yield f"- `{operator}` ({dtypes}; {len(samples)} samples{place}): {text}"


def _sample(row: Row) -> OperatorSample:
    return OperatorSample.named(row.model)


if __name__ == "__main__":
    sys.exit(main())
