"""Runs the node test cases of the onnx package on both CPU runners, and writes a table.

    ./pixiw run onnx-nodes                all cases
    ./pixiw run onnx-nodes lstm resize    cases with one of these texts in their names

Each case is captured, lowered and run, and compared with its recorded outputs. Results are saved
after each group of cases. Another run only does what is missing, or what `--again` selects.
Without TEXT, writes the page `docs/operators/onnx.md` from all results.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "e2e" / "ops")]

from onnx_cases import OnnxCase, left_out, onnx_cases  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn  # noqa: E402

from unmess.conformance.operators.case import RUNNERS  # noqa: E402
from unmess.conformance.operators.outcomes import Outcome, outcomes  # noqa: E402
from unmess.core.cache.folder import cache_folder  # noqa: E402
from unmess.core.errors.quiet import quiet_libraries  # noqa: E402
from unmess.core.files.writing import write_text  # noqa: E402
from unmess.core.processes.workers import Parent  # noqa: E402
from unmess.isolated import libraries_of  # noqa: E402
from unmess.row import Row  # noqa: E402
from unmess.row_log import appending, read_rows, write_row  # noqa: E402

PAGE = ROOT / "docs" / "operators" / "onnx.md"
# The number of cases that are compiled together.
_TOGETHER = 24
# The packages whose versions the results depend on.
_VERSIONS = ("onnx", "torch", "torch-mlir", "iree-base-compiler")
_HEADER = """\
# ONNX operators

Written by `./pixiw run onnx-nodes`, with {versions}; do not edit. The package onnx has
{all} cases of nodes (`onnx.backend.test.case.node`). Each of the {tensors} cases whose inputs and
outputs are tensors is captured, lowered, and run on the reference runner and on IREE on the CPU.
The result is compared with the outputs of the case; for random numbers, only type and shape are
compared. Not included: {left_out}.

See [the route for ONNX files](../routes/onnx.md) for how a file is captured.
"""

Results = dict[tuple[str, str], Row]


def main() -> int:
    options = _options()
    cases = [
        case
        for case in onnx_cases()
        if not options.text or any(text in case.name for text in options.text)
    ]
    file = options.results or cache_folder() / "sweeps" / "onnx-nodes.jsonl"
    results = {(row.model, row.runner): row for row in read_rows(file)}
    if not options.report:
        quiet_libraries()
        _run(cases, results, file, options)
    if options.text:
        chosen = {case.name for case in cases}
        print("\n".join(stops({key: row for key, row in results.items() if key[0] in chosen})))
    else:
        write_text(PAGE, page(cases, results))
        print(f"wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "text",
        nargs="*",
        help="run the cases whose names contain one of these texts (default: all)",
    )
    parser.add_argument("--runner", choices=RUNNERS, action="append", help="default: both")
    parser.add_argument("--results", type=Path, help="default: under the cache folder")
    parser.add_argument(
        "--again",
        choices=("failed", "all"),
        help="run these cases again, even if there is a result",
    )
    parser.add_argument(
        "--report", action="store_true", help="write the page from the stored results only"
    )
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


def _run(
    cases: Sequence[OnnxCase], results: Results, file: Path, options: argparse.Namespace
) -> None:
    """Runs cases that `results` lacks, and adds their rows to `results` and to the file."""
    runners = options.runner or RUNNERS
    missing = [case for case in cases if _is_missing(case, runners, results, options.again)]
    groups = [missing[i : i + _TOGETHER] for i in range(0, len(missing), _TOGETHER)]
    file.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress(
        BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True)
    )
    parent = Parent((*libraries_of((), RUNNERS), "onnx_cases", "importers.onnx.operators"))
    pool = ThreadPoolExecutor(options.jobs)
    with parent, progress, appending(file) as log:
        task = progress.add_task("", total=len(missing))
        try:
            work = {pool.submit(outcomes, g, runners, parent=parent): g for g in groups}
            for done in as_completed(work):
                for case, outcome in zip(work[done], done.result(), strict=True):
                    for row in _rows(case, outcome):
                        results[row.model, row.runner] = row
                        write_row(log, row)
                progress.advance(task, len(work[done]))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _is_missing(
    case: OnnxCase, runners: Sequence[str], results: Results, again: str | None
) -> bool:
    rows = [results.get((case.name, runner)) for runner in runners]
    if again == "all" or None in rows:
        return True
    return again == "failed" and not all(row.ok for row in rows)


def _rows(case: OnnxCase, outcome: Outcome) -> Iterator[Row]:
    for runner, failure in outcome.items():
        if failure is None:
            yield Row(case.name, runner, ok=True, stage="done")
        else:
            cause = failure.cause.partition(" (pass ")[0]
            yield Row(case.name, runner, ok=False, stage=failure.stage, error=cause)


def page(cases: Sequence[OnnxCase], results: Mapping[tuple[str, str], Row]) -> str:
    """Returns the page as Markdown."""
    others = left_out()
    header = _HEADER.format(
        versions=", ".join(f"{name} {version(name)}" for name in _VERSIONS),
        all=len(cases) + others.total(),
        tensors=len(cases),
        left_out=", ".join(f"{number} with {kind}" for kind, number in sorted(others.items())),
    )
    lines = [header, *_summary(cases, results), "", "## Cases that fail", ""]
    lines += [*stops(results), "", "## Cases", ""]
    lines += [
        f"| case | opset | {' | '.join(RUNNERS)} |",
        "| --- | --- |" + " --- |" * len(RUNNERS),
    ]
    for case in cases:
        cells = [_cell(results.get((case.name, runner))) for runner in RUNNERS]
        name = case.name.removeprefix("test_")
        lines.append(f"| `{name}` | {case.opset or ''} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(row: Row | None) -> str:
    if row is None:
        return "not run"
    return "right" if row.ok else f"**{_STAGES.get(row.stage, row.stage)}**"


_STAGES = {"compare": "wrong", "crash": "crash"}


def _summary(cases: Sequence[OnnxCase], results: Mapping[tuple[str, str], Row]) -> Iterator[str]:
    yield "| runner | right | wrong | crashes | other stops |"
    yield "| --- | --- | --- | --- | --- |"
    for runner in RUNNERS:
        rows = [results[case.name, runner] for case in cases if (case.name, runner) in results]
        right = sum(row.ok for row in rows)
        counts = [sum(row.stage == stage for row in rows) for stage in ("compare", "crash")]
        share = f"{right} of {len(rows)} ({right / max(len(rows), 1):.1%})"
        rest = len(rows) - right - sum(counts)
        yield f"| {runner} | {share} | {counts[0]} | {counts[1]} | {rest} |"


def stops(results: Mapping[tuple[str, str], Row]) -> Iterator[str]:
    """Yields a line for each cause of failure, with its cases and runners."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in results.values():
        if not row.ok:
            found[f"{row.stage}: {row.error}"][row.model.removeprefix("test_")].add(row.runner)
    for text, by_case in sorted(found.items(), key=lambda item: min(item[1])):
        runners = set().union(*by_case.values())
        place = "" if runners == set(RUNNERS) else f" ({', '.join(sorted(runners))} only)"
        names = ", ".join(f"`{name}`" for name in sorted(by_case))
        text = text.replace("|", "\\|").replace("<", "\\<")
        yield f"- {names}{place}: {text}"


if __name__ == "__main__":
    sys.exit(main())
