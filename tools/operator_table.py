"""Writes the table of operators, `docs/operators/table.md`, and records its known limits.

    ./pixiw run operator-table
    ./pixiw run operator-table --record [TEXT]

The first command writes the page from the cases in `unmess/conformance/operators` and runs nothing.
`--record` runs the cases, or only those with TEXT in the name of the category or operator. It
writes their failures to `limits.yaml` beside the cases, and then the page.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from importers.recipes.limits import Limit, known_limits, record_limits
from unmess.conformance.operators import CASES, groups
from unmess.conformance.operators.case import LIMITS_FILE, RUNNERS, Case
from unmess.conformance.operators.outcomes import Failure, Outcome, outcomes
from unmess.conformance.operators.tensors import DTYPES
from unmess.core.files.writing import write_text

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "operators" / "table.md"
_HEADER = """\
# The table of operators

Written by `./pixiw run operator-table` from the cases in `unmess/conformance/operators`; do not
edit. Each case is a call that `./pixiw run operators` captures, lowers and runs on the reference
runner and on IREE on the CPU, and compares with eager PyTorch element by element. Types, shapes,
integers, the positions of NaN, infinities and the signs of zeros must be equal; other
floating-point numbers may differ by a few units in the last place. A letter is a dynamic size: the
program is called with the size of the example, a larger size, and size 1. `special` inputs are NaN,
infinities, zeros of both signs and the limits of the range; `extreme` inputs are the limits of an
integer type.

`unmess ops MODEL` lists which operators of one model lower, to any output dialect
([operators](../operators.md)). [Repairs](../repairs.md) describes which operators are decomposed
before they are lowered, and how to add decompositions.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", metavar="TEXT", nargs="?", const="")
    options = parser.parse_args()
    if options.record is not None:
        for group in groups():
            chosen = [c for c in group if options.record in f"{c.category} {c.operator}"]
            if chosen:
                found = dict(zip(chosen, outcomes(chosen), strict=True))
                record_limits({str(case): limits_of(found[case]) for case in chosen}, LIMITS_FILE)
                print(f"{group[0].category}: {len(chosen)} cases", file=sys.stderr)
    PAGE.parent.mkdir(exist_ok=True)
    write_text(PAGE, page(CASES, known_limits(LIMITS_FILE)))


def limits_of(outcome: Outcome) -> list[Limit]:
    """Returns the limits of a case; a single one if all runners fail in the same way."""
    failures = [failure for failure in outcome.values() if failure]
    if len(failures) == len(RUNNERS) and len(set(map(str, failures))) == 1:
        return [_limit(failures[0])]
    return [_limit(failure, runner) for runner, failure in outcome.items() if failure]


def _limit(failure: Failure, runner: str | None = None) -> Limit:
    # Drop the name of the pass, which changes with the pipelines.
    return Limit(failure.stage, failure.cause.partition(" (pass ")[0], runner)


def page(cases: Sequence[Case], limits: Mapping[str, Sequence[Limit]]) -> str:
    """Returns the page as Markdown."""
    lines = [_HEADER, *_summary(cases, limits)]
    for category, members in itertools.groupby(cases, lambda case: case.category):
        members = list(members)
        lines += ["", f"## {category}", "", f"| operator | types | dynamic | {_RUNNERS} |"]
        lines += ["| --- | --- | --- |" + " --- |" * len(RUNNERS)]
        by_operator: dict[str, list[Case]] = {}
        for case in members:
            by_operator.setdefault(case.operator, []).append(case)
        lines += [_row(operator, of, limits) for operator, of in by_operator.items()]
        stops = list(_stops(members, limits))
        if stops:
            lines += ["", "Calls that fail:", "", *stops]
    return "\n".join(lines) + "\n"


_RUNNERS = " | ".join(RUNNERS)


def _summary(cases: Sequence[Case], limits: Mapping[str, Sequence[Limit]]) -> Iterator[str]:
    yield f"| category | cases | {_RUNNERS} |"
    yield "| --- | --- |" + " --- |" * len(RUNNERS)
    for category, count in Counter(case.category for case in cases).items():
        members = [case for case in cases if case.category == category]
        passed = " | ".join(str(_passed(members, runner, limits)) for runner in RUNNERS)
        yield f"| {category} | {count} | {passed} |"
    passed = " | ".join(str(_passed(cases, runner, limits)) for runner in RUNNERS)
    yield f"| together | {len(cases)} | {passed} |"


def _row(operator: str, cases: Sequence[Case], limits: Mapping[str, Sequence[Limit]]) -> str:
    specs = [spec for case in cases for spec in case.specs]
    types = {spec.dtype for spec in specs}
    dynamic = "yes" if any(spec.dynamic for spec in specs) else ""
    cells = [
        f"`{_escaped(operator)}`",
        ", ".join(name for name, dtype in DTYPES.items() if dtype in types),
        dynamic,
    ]
    for runner in RUNNERS:
        passed = _passed(cases, runner, limits)
        cells.append("yes" if passed == len(cases) else f"{passed} of {len(cases)}")
    return f"| {' | '.join(cells)} |"


def _stops(cases: Iterable[Case], limits: Mapping[str, Sequence[Limit]]) -> Iterator[str]:
    for case in cases:
        for limit in limits.get(str(case), ()):
            yield f"- `{case}`: {_escaped(str(limit))}"


def _passed(cases: Iterable[Case], runner: str, limits: Mapping[str, Sequence[Limit]]) -> int:
    return sum(
        not any(limit.holds_for(runner) for limit in limits.get(str(case), ())) for case in cases
    )


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
