"""Which cases of the table of operators TOSA and StableHLO have a form of, and a right one.

    ./pixiw run operator-exits

The IR of each case at each exit is run by the reference runner and compared with eager PyTorch, as
`./pixiw run operators` does for the runners' own way. The page `docs/operators/exits.md` is written
from what is found.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e" / "ops"))

from operator_cases import groups  # noqa: E402
from operator_cases.case import Case  # noqa: E402
from operator_cases.outcomes import Failure, outcomes  # noqa: E402

EXITS = ("tosa", "stablehlo")
PAGE = ROOT / "docs" / "operators" / "exits.md"
# Seconds for a group of cases.
_TIMEOUT = 60.0
_HEADER = """\
# The table of operators at TOSA and StableHLO

Written by `./pixiw run operator-exits`; do not edit. The cases are those of [the table](table.md),
which goes by way of linalg. Here the IR of the other exits is lowered to linalg, and runs on the
reference runner.

- *right*: what eager PyTorch gives, to a few units in the last place.
- *no form*: the exit does not lower it, and says so.
- *lowers*: it does, but torch-mlir has no way from there to linalg, so that it was not run.
- *differs*: it runs, and gives something else, which is told below: mostly the last digits (TOSA
  divides by way of the reciprocal), NaN, infinities, the sign of 0, numbers of more than 32 bits.
- *no program*: it does not get as far as the exit.
"""
_STATES = ("right", "no form", "lowers", "differs", "no program")

# By exit and case.
Found = Mapping[tuple[str, str], Failure | None]


def main() -> None:
    found: dict[tuple[str, str], Failure | None] = {}
    for group in groups():
        for exit_ in EXITS:
            results = outcomes(group, ("reference",), exit_, _TIMEOUT)
            for case, result in zip(group, results, strict=True):
                found[exit_, str(case)] = result["reference"]
        print(f"{group[0].category}: {len(group)} cases", file=sys.stderr)
    PAGE.write_text(page([case for group in groups() for case in group], found))


def page(cases: Sequence[Case], found: Found) -> str:
    """The page as Markdown: counts by category, and what differs."""
    lines = [_HEADER]
    for exit_ in EXITS:
        lines += [f"## {exit_}", "", f"| category | cases | {' | '.join(_STATES)} |"]
        lines += ["| --- | --- |" + " --- |" * len(_STATES)]
        for category in dict.fromkeys(case.category for case in cases):
            members = [case for case in cases if case.category == category]
            lines.append(f"| {category} | {_counts(members, exit_, found)} |")
        lines.append(f"| together | {_counts(cases, exit_, found)} |")
        lines += ["", "No form:", "", *_without_form(cases, exit_, found)]
        lines += ["", "What differs:", "", *_differences(cases, exit_, found), ""]
    return "\n".join(lines).rstrip() + "\n"


def state(failure: Failure | None, exit_: str) -> str:
    """One of `_STATES`."""
    if failure is None:
        return "right"
    if failure.stage in ("compare", "run", "crash"):
        return "differs"
    if failure.stage == exit_:
        return "no form"
    return "lowers" if failure.stage in ("linalg", "compile", "load") else "no program"


def _counts(cases: Sequence[Case], exit_: str, found: Found) -> str:
    states = Counter(state(found[exit_, str(case)], exit_) for case in cases)
    return " | ".join(str(each) for each in (len(cases), *(states[name] for name in _STATES)))


def _without_form(cases: Sequence[Case], exit_: str, found: Found) -> Iterator[str]:
    """Operators of which no case has a form, and those of which some have not."""
    states: dict[str, list[bool]] = {}
    for case in cases:
        missing = state(found[exit_, str(case)], exit_) == "no form"
        states.setdefault(case.operator, []).append(missing)
    for about, some in (("Of all cases", False), ("Of some", True)):
        names = [
            f"`{name}`" for name, missing in states.items() if any(missing) and some != all(missing)
        ]
        if names:
            yield f"- {about}: {', '.join(names)}"


def _differences(cases: Sequence[Case], exit_: str, found: Found) -> Iterator[str]:
    for case in cases:
        failure = found[exit_, str(case)]
        if state(failure, exit_) == "differs":
            escaped = str(failure).replace("|", "\\|")
            yield f"- `{case}`: {escaped}"


if __name__ == "__main__":
    main()
