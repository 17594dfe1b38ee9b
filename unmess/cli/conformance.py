"""`unmess conformance`: runs the cases of all levels on a backend, and reports."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.backends.table import HELP, check_runner
from unmess.cli import arguments
from unmess.cli.exit_status import INTERRUPTED
from unmess.cli.session import Session, command
from unmess.cli.streams import say
from unmess.core.errors.error import Error
from unmess.core.files.writing import write_text, writing_to
from unmess.core.options.names import did_you_mean

if TYPE_CHECKING:
    from unmess.conformance.levels import ConformanceCase
    from unmess.conformance.report import Expectation
    from unmess.conformance.result import Result, ResultFile
    from unmess.core.processes.workers import Parent


@click.group(invoke_without_command=True)
@click.option("--on", "runner", metavar="BACKEND", help=f"One of {HELP}.")
@click.option(
    "--level",
    "levels",
    type=click.IntRange(1, 4),
    multiple=True,
    help="1 single operators, 2 random programs, 3 small models, 4 whole models; may be repeated. "
    "Default: 1.",
)
@click.option("-k", "text", default="", metavar="TEXT", help="Only cases with TEXT in their name.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Cases that run at the same time.",
)
@arguments.output_folder(
    "conformance", "Where the reports go. A run that was interrupted goes on there."
)
@click.option(
    "--expected",
    metavar="FILE",
    help="Names of cases that fail, one on each line. One that passes is a failure of the run.",
)
@click.option(
    "--keep-going",
    is_flag=True,
    help="Run a level also if no case of the level below it passes.",
)
@click.option(
    "--print-case",
    "case_name",
    metavar="NAME",
    help="Write this case to the folder of -o, with its arguments and expected results.",
)
@command
def conformance(
    session: Session,
    runner: str | None,
    levels: tuple[int, ...],
    text: str,
    jobs: int,
    output: str,
    expected: str | None,
    keep_going: bool,
    case_name: str | None,
) -> int:
    """Run the cases of a backend, and report what passes, fails, is wrong, crashes or hangs.

    DIR gets results.jsonl, junit.xml, report.html, and causes/N.mlir with the smallest failing IR
    of each cause. The exit status is 1 if a case fails unexpectedly, or passes although it is
    expected to fail.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        return 0
    if runner is None:
        raise Error("usage", "the backend is missing", hint=f"--on BACKEND: {HELP}")
    check_runner(runner)
    # Imported here, because `--help` does not need them.
    from unmess.core.processes.workers import Parent
    from unmess.isolated import libraries_of, rehearsals_of

    # Start it before the progress thread: a process with threads must not be forked.
    parent = Parent((*libraries_of((), (runner,)), *rehearsals_of((runner,))))
    parent.begin()
    with parent, session.progress.showing():
        session.progress.begin("loading PyTorch")
        names = [] if expected is None else _expected(expected)
        cases = _cases(levels or (1,), text, case_name)
        if case_name is not None:
            _print(cases[0], runner, Path(output))
            say(f"{case_name} is in {output}")
            return 0
        return _run(session, parent, cases, runner, jobs, Path(output), names, keep_going)


def _expected(path: str) -> list[str]:
    """Returns the names in a file. Raises a usage error if it has a name that no case has."""
    from unmess.conformance.levels import case_names
    from unmess.conformance.report import read_expected

    try:
        names = read_expected(Path(path))
    except (OSError, UnicodeDecodeError) as problem:
        raise Error("usage", f"cannot read {path}: {problem}", hint="--expected FILE") from problem
    known = case_names()
    if unknown := [name for name in names if name not in known]:
        more = f", nor {len(unknown) - 1} other names" if len(unknown) > 1 else ""
        raise Error(
            "usage",
            f"{path}: no case is called {unknown[0]!r}{more}",
            hint=did_you_mean(unknown[0], known, "names are in results.jsonl and report.html"),
        )
    return names


def _cases(levels: tuple[int, ...], text: str, name: str | None) -> list[ConformanceCase]:
    from unmess.conformance.levels import LEVELS, cases_of

    if name is not None:
        # Random programs come last: drawing them takes longest.
        for level in sorted(LEVELS, key=lambda level: level == 2):
            for case in cases_of(level):
                if case.name == name:
                    return [case]
        raise Error("usage", f"no case {name!r}", hint="names are in results.jsonl and report.html")
    found = [case for level in sorted(set(levels)) for case in cases_of(level)]
    found = [case for case in found if text in case.name]
    if not found:
        raise Error("usage", f"no case has {text!r} in its name", hint="omit -k")
    return found


def _run(
    session: Session,
    parent: Parent,
    cases: list[ConformanceCase],
    runner: str,
    jobs: int,
    folder: Path,
    expected: list[str],
    keep_going: bool,
) -> int:
    from unmess.conformance.result import ResultFile
    from unmess.conformance.running import about

    facts = about(runner)
    file = ResultFile(folder, facts)
    with contextlib.closing(file):
        return _run_left(session, parent, cases, runner, jobs, file, facts, expected, keep_going)


def _run_left(
    session: Session,
    parent: Parent,
    cases: list[ConformanceCase],
    runner: str,
    jobs: int,
    file: ResultFile,
    facts: dict[str, Any],
    expected: list[str],
    keep_going: bool,
) -> int:
    """Runs the cases that have no result yet, and reports on all."""
    from unmess.conformance.report import explains_all
    from unmess.conformance.running import run_cases

    left = [case for case in cases if case.name not in file.results]
    before = len(cases) - len(left)
    if before:
        say(f"{before} of {len(cases)} cases are in {file.path} already")
    interrupted = False
    try:
        count = before
        for level in sorted({case.level for case in cases}):
            members = [case for case in left if case.level == level]
            for result in run_cases(parent, members, runner, jobs):
                file.add(result)
                count += 1
                session.progress.begin(f"[{count}/{len(cases)}] {result.name}: {result.status}")
            names = (case.name for case in cases if case.level == level)
            found = [file.results[name] for name in names if name in file.results]
            if not keep_going and explains_all(found, expected) and level < cases[-1].level:
                say(
                    f"no case of level {level} passes, so the levels above do not run: "
                    "--keep-going runs them"
                )
                break
    except KeyboardInterrupt:
        interrupted = True
    names = {case.name: case for case in cases}
    results = [file.results[name] for name in names if name in file.results]
    expectation = _write(
        session, parent, facts, results, names, runner, file, expected, interrupted
    )
    if interrupted:
        say(f"interrupted: {len(results)} of {len(cases)} cases finished; run it again to go on")
        return INTERRUPTED
    return 0 if expectation.ok else 1


def _write(
    session: Session,
    parent: Parent,
    facts: dict[str, Any],
    results: list[Result],
    cases: dict[str, ConformanceCase],
    runner: str,
    file: ResultFile,
    expected: list[str],
    interrupted: bool,
) -> Expectation:
    """Writes the reports to the folder, and the summary to stdout."""
    from unmess.conformance.causes import causes_of, smallest_inputs, write_causes
    from unmess.conformance.report import compare_with_expected, grouped, junit, page

    folder = file.path.parent
    session.progress.begin("writing the report")
    expectation = compare_with_expected(results, expected)
    causes = causes_of(results)
    texts = smallest_inputs(parent, causes, cases, runner)
    with writing_to(folder):
        write_causes(causes, texts, folder)
        write_text(folder / "junit.xml", junit(facts, results, expected))
        write_text(folder / "report.html", page(facts, results, causes, expectation))
    if session.json:
        session.write_json(
            {
                "ok": expectation.ok and not interrupted,
                "interrupted": interrupted,
                "about": facts,
                "results": [asdict(result) for result in results],
                "causes": [asdict(cause) for cause in causes],
                "unexpected": expectation.unexpected,
                "fixed": expectation.fixed,
            }
        )
        return expectation
    session.write_table(_table(grouped(results)))
    tolerances = ", ".join(f"{dtype} {value:g}" for dtype, value in facts["tolerances"].items())
    session.write(f"tolerances of {facts['backend']}: {tolerances or 'none of its own'}")
    if facts["numerics"]:
        session.write(f"rounding of {facts['backend']}: {facts['numerics']}")
    for cause in causes[:20]:
        place = f" ({folder / cause.file})" if cause.file else ""
        session.write(f"{len(cause.names)} {cause.status}: {cause.stage}: {cause.text}{place}")
    for name in expectation.fixed:
        session.write(f"expected to fail, and passes: {name}")
    session.write(f"report: {folder / 'report.html'}")
    return expectation


def _table(groups: list[Any]):
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from unmess.conformance.result import STATUSES

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading in ("by", ""):
        table.add_column(heading)
    for heading in (*STATUSES, "all"):
        table.add_column(heading, justify="right", no_wrap=True)
    for group in groups:
        counts = [str(group.counts.get(status) or "") for status in STATUSES]
        table.add_row(group.kind, Text(group.name), *counts, str(group.total))
    return table


def _print(case: ConformanceCase, runner: str, folder: Path) -> None:
    from unmess.conformance.printing import print_case

    print_case(case, runner, folder)


@conformance.command()
@click.argument("old")
@click.argument("new")
@command
def diff(session: Session, old: str, new: str) -> int:
    """Compare two reports, folders or files of results; the exit status is 1 on a regression."""
    from unmess.conformance.result import changes, read_results

    (before, first), (after, second) = (read_results(Path(path)) for path in (old, new))
    found = changes(first, second)
    regressions = [change for change in found if change.is_regression]
    if session.json:
        document = {
            "ok": not regressions,
            "old": before,
            "new": after,
            "changes": [{**asdict(each), "is_regression": each.is_regression} for each in found],
        }
        session.write_json(document)
    else:
        if before["backend"] != after["backend"]:
            session.write(f"backends: {before['backend']}, {after['backend']}")
        for each in found:
            cause = f": {each.cause}" if each.cause else ""
            text = f"{each.name}: {each.before or 'not run'} -> {each.after or 'not run'}{cause}"
            session.write(("regression: " if each.is_regression else "") + text)
        session.write(f"{len(regressions)} regressions, {len(found)} changes")
    return 1 if regressions else 0
