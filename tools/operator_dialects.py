"""Lowers the cases of the operator table to TOSA and StableHLO, and checks the results.

    ./pixiw run operator-dialects
    ./pixiw run operator-dialects tosa --again failed

The reference runner runs the IR of each case in each output dialect. The results are compared with
eager PyTorch, as in `./pixiw run operators`. It also checks whether torch-mlir's own pipelines
lower the case. All results are kept in a file. A later run only adds missing results, and repeats
those that `--again` selects; use `all` after versions have changed. Writes the page
`docs/operators/output-dialects.md`.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.torch_mlir_alone import why_not  # noqa: E402
from unmess.conformance.operators import groups  # noqa: E402
from unmess.conformance.operators.case import Case  # noqa: E402
from unmess.conformance.operators.outcomes import Failure, outcomes  # noqa: E402
from unmess.core.cache.folder import cache_folder  # noqa: E402
from unmess.core.errors.error import first_line  # noqa: E402
from unmess.core.errors.quiet import quiet_libraries  # noqa: E402
from unmess.core.files.writing import write_text  # noqa: E402
from unmess.core.processes.workers import Died, each_in_workers  # noqa: E402
from unmess.isolated import shared_parent  # noqa: E402
from unmess.row_log import appending  # noqa: E402

OUTPUT_DIALECTS = ("tosa", "stablehlo")
PAGE = ROOT / "docs" / "operators" / "output-dialects.md"
# Seconds for a group of cases, and bytes of address space for each of its processes. The limit is
# needed because some lowerings use all memory.
_TIMEOUT = 60.0
_MEMORY = 8 * 2**30
# A function of this file by import path: workers cannot import `__main__`.
_WHY_NOT_ALONE = "tools.operator_dialects:_why_not_alone"
# The packages whose versions the results depend on.
_VERSIONS = ("torch", "torch-mlir")
_HEADER = """\
# The table of operators at TOSA and StableHLO

Written by `./pixiw run operator-dialects`, with {versions}; do not edit.
The cases are those of [the table](table.md), which lowers them to linalg. Here, they are lowered to
the other output dialects, from there to linalg, and run on the reference runner.

- *right*: the result equals that of eager PyTorch, to a few units in the last place.
- *no form*: lowering to the output dialect fails with an Error. TOSA has no random numbers; those
  of StableHLO have no seed, and are drawn here as at linalg.
- *lowers*: the case lowers to the output dialect, but not from there to linalg, so it was not run.
- *differs*: the result differs, as listed below: mostly the last digits (TOSA divides by
  multiplying with the reciprocal), NaN, infinities, the sign of 0, numbers of more than 32 bits.
- *fails*: the run stops with an Error.
- *crashes*: the process crashes, takes too long, or raises an exception other than an Error.
- *no program*: an earlier stage fails.
- *not run*: there is no result yet.
- *torch-mlir lowers*: `torch_mlir.fx.export_and_import` alone lowers the case; its result was not
  checked.
"""
_STATES = (
    "right",
    "no form",
    "lowers",
    "differs",
    "fails",
    "crashes",
    "no program",
    "not run",
)
# The state of cases that stop after the output dialect, by stage.
_STOPPED = {
    **dict.fromkeys(("linalg", "compile", "load"), "lowers"),
    **{"compare": "differs", "run": "fails", "crash": "crashes"},
}

# Keyed by output dialect (or the key that `alone` returns for it) and case.
Found = Mapping[tuple[str, str], Failure | None]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dialects", nargs="*", default=OUTPUT_DIALECTS, help="default: both")
    parser.add_argument("--results", type=Path, help="default: under the cache folder")
    parser.add_argument(
        "--again",
        choices=("failed", "all"),
        help="run these cases again, even if there is a result",
    )
    options = parser.parse_args()
    file = options.results or cache_folder() / "sweeps" / "operator_dialects.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    found = read(file)
    quiet_libraries()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    cases = [case for group in groups() for case in group]
    with appending(file) as log:
        for dialect in options.dialects:
            for group in groups():
                for place, work in ((dialect, _run), (alone(dialect), _lowered_alone)):
                    chosen = wanted(group, place, found, options.again)
                    failures = work(chosen, dialect) if chosen else []
                    for case, failure in zip(chosen, failures, strict=True):
                        found[place, str(case)] = failure
                        stopped = failure and (failure.stage, failure.cause)
                        log.write(json.dumps((place, str(case), stopped)) + "\n")
                    log.flush()
                    print(f"{place}, {group[0].category}: {len(chosen)} cases", file=sys.stderr)
                write_text(PAGE, page(cases, found))


def wanted(cases: Sequence[Case], place: str, found: Found, again: str | None) -> list[Case]:
    """Returns the cases to run.

    Args:
        place: an output dialect, or `alone` of one, whose failures `again="failed"` does not
            repeat.
    """
    return [
        case
        for case in cases
        if (place, str(case)) not in found
        or again == "all"
        or (again == "failed" and place in OUTPUT_DIALECTS and found[place, str(case)] is not None)
    ]


def alone(dialect: str) -> str:
    """Returns the key in the file for torch-mlir's own pipeline to an output dialect."""
    return f"{dialect} by torch-mlir alone"


def _run(cases: Sequence[Case], dialect: str) -> list[Failure | None]:
    return [each["reference"] for each in outcomes(cases, ("reference",), dialect, _TIMEOUT)]


def _lowered_alone(cases: Sequence[Case], dialect: str) -> Iterator[Failure | None]:
    """Yields where torch-mlir's own pipelines fail, or None."""
    jobs = [(case, dialect) for case in cases]
    for cause in each_in_workers(shared_parent(), jobs, _WHY_NOT_ALONE, _TIMEOUT):
        told = cause.cause if isinstance(cause, Died) else cause
        yield None if told is None else Failure(dialect, told)


def _why_not_alone(job: tuple[Case, str]) -> str | None:
    import torch

    quiet_libraries()
    torch.set_num_threads(1)
    case, dialect = job
    try:
        program = torch.export.export(
            case.module(), case.tensors(), dynamic_shapes=case.dynamic_shapes()
        )
    except Exception as problem:
        return first_line(problem)
    return why_not(dialect, program)


def read(file: Path) -> dict[tuple[str, str], Failure | None]:
    """Reads the results of earlier runs. Drops lines that an interruption truncated."""
    found = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            dialect, case, stopped = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[dialect, case] = stopped and Failure(*stopped)
    return found


def page(cases: Sequence[Case], found: Found) -> str:
    """Returns the page as Markdown: counts by category, and cases that do not match eager."""
    versions = ", ".join(f"{name} {version(name)}" for name in _VERSIONS)
    lines = [_HEADER.format(versions=versions)]
    columns = (*_STATES, "torch-mlir lowers")
    for dialect in OUTPUT_DIALECTS:
        lines += [f"## {dialect}", "", f"| category | cases | {' | '.join(columns)} |"]
        lines += ["| --- | --- |" + " --- |" * len(columns)]
        for category in dict.fromkeys(case.category for case in cases):
            members = [case for case in cases if case.category == category]
            lines.append(f"| {category} | {_counts(members, dialect, found)} |")
        lines.append(f"| together | {_counts(cases, dialect, found)} |")
        lines += ["", "No form:", "", *_without_form(cases, dialect, found)]
        lines += ["", "Cases that torch-mlir alone lowers and unmess does not:", ""]
        lines += _only_alone(cases, dialect, found)
        lines += ["", "Cases that differ, fail or crash:", ""]
        lines += [*_differences(cases, dialect, found), ""]
    return "\n".join(lines).rstrip() + "\n"


def state(failure: Failure | None, dialect: str) -> str:
    """Returns one of `_STATES`."""
    if failure is None:
        return "right"
    if failure.stage == dialect:
        return "no form"
    return _STOPPED.get(failure.stage, "no program")


def _state_of(case: Case, dialect: str, found: Found) -> str:
    place = (dialect, str(case))
    return state(found[place], dialect) if place in found else "not run"


def _counts(cases: Sequence[Case], dialect: str, found: Found) -> str:
    states = Counter(_state_of(case, dialect, found) for case in cases)
    theirs = sum(_is_lowered_alone(case, dialect, found) for case in cases)
    counts = (len(cases), *(states[name] for name in _STATES), theirs)
    return " | ".join(str(each) for each in counts)


def _is_lowered_alone(case: Case, dialect: str, found: Found) -> bool:
    place = (alone(dialect), str(case))
    return place in found and found[place] is None


def _only_alone(cases: Sequence[Case], dialect: str, found: Found) -> Iterator[str]:
    for case in cases:
        stops = _state_of(case, dialect, found) in ("no form", "no program")
        if stops and _is_lowered_alone(case, dialect, found):
            escaped = str(found[dialect, str(case)]).replace("|", "\\|")
            yield f"- `{case}`: {escaped}"


def _without_form(cases: Sequence[Case], dialect: str, found: Found) -> Iterator[str]:
    """Yields a line of operators that lack a form in all cases, and one of those in some cases."""
    states: dict[str, list[bool]] = {}
    for case in cases:
        missing = _state_of(case, dialect, found) == "no form"
        states.setdefault(case.operator, []).append(missing)
    for about, some in (("Of all cases", False), ("Of some", True)):
        names = [
            f"`{name}`" for name, missing in states.items() if any(missing) and some != all(missing)
        ]
        if names:
            yield f"- {about}: {', '.join(names)}"


def _differences(cases: Sequence[Case], dialect: str, found: Found) -> Iterator[str]:
    for case in cases:
        if _state_of(case, dialect, found) in ("differs", "fails", "crashes"):
            escaped = str(found[dialect, str(case)]).replace("|", "\\|")
            yield f"- `{case}`: {escaped}"


if __name__ == "__main__":
    main()
