"""Runs the node test cases of the onnx package on both CPU runners, and writes a table.

    ./pixiw run onnx-nodes                all cases
    ./pixiw run onnx-nodes lstm resize    cases with one of these texts in their names

Each case is captured, lowered and run, and compared with its recorded outputs. Results are saved
after each group of cases. Another run only does what is missing, or what `--again` selects.
Without TEXT, writes the page `docs/operators/onnx.md` from all results.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "e2e" / "ops")]

from onnx_cases import OnnxCase, left_out, onnx_cases  # noqa: E402

from tools.sweeps import add_options, run_missing  # noqa: E402
from unmess.conformance.operators.case import RUNNERS  # noqa: E402
from unmess.conformance.operators.outcomes import outcomes  # noqa: E402
from unmess.core.cache.folder import cache_folder  # noqa: E402
from unmess.core.errors.quiet import quiet_libraries  # noqa: E402
from unmess.core.files.writing import write_text  # noqa: E402
from unmess.isolated import libraries_of  # noqa: E402
from unmess.row import Row  # noqa: E402
from unmess.row_log import read_rows  # noqa: E402

PAGE = ROOT / "docs" / "operators" / "onnx.md"
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
        runners = options.runner or RUNNERS
        libraries = (*libraries_of((), RUNNERS), "onnx_cases", "importers.onnx.operators")
        named = {case.name: case for case in cases}
        run = partial(outcomes, runners=runners)
        run_missing(named, runners, run, libraries, results, file, options)
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
    add_options(parser, "cases")
    return parser.parse_args()


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
