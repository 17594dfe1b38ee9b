"""`unmess check`: runs models on runners and compares each result with eager PyTorch's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipelines.backends.table import DEFAULT_RUNNERS, check_runner
from unmess.cli import arguments
from unmess.cli.arguments import CaptureOptions
from unmess.cli.exit_status import INTERRUPTED
from unmess.cli.session import Session, command
from unmess.cli.streams import say, show_error
from unmess.core.errors.error import Error
from unmess.core.errors.stages import OUTPUT_DIALECTS
from unmess.core.options.names import STRATEGIES
from unmess.format import difference, duration
from unmess.row import STEPS, Row

if TYPE_CHECKING:
    from unmess.core.processes.workers import Parent
    from unmess.isolated import Options

# Columns to leave out, in this order, if the terminal is too narrow.
_LEAVE_OUT = ("load", "import", "peak", "max abs", "lower", "eager", "compile")


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@arguments.runners
@click.option(
    "--via",
    metavar="DIALECT",
    help=f"Run the IR of this output dialect: {', '.join(OUTPUT_DIALECTS)}. Default: linalg. "
    "The reference runner lowers tosa and stablehlo to linalg; IREE compiles them "
    "directly.",
)
@arguments.quantized_capture
@arguments.cpu
@arguments.preset
@arguments.unchecked
@arguments.fallback
@arguments.allow_op
@arguments.deny_op
@arguments.timeout(
    "Time limit for each model and runner; that of the first runner includes the "
    "capture. Default: none.",
)
@arguments.jobs(
    "Models that are checked at the same time. With 1, the measured times are shorter, but all "
    "models take longer together."
)
@command
def check(
    session: Session,
    models: tuple[str, ...],
    runners: tuple[str, ...],
    via: str | None,
    capture: CaptureOptions,
    cpu: str,
    preset: str | None,
    unchecked: bool,
    fallback: str | None,
    allow_ops: tuple[str, ...],
    deny_ops: tuple[str, ...],
    timeout: float | None,
    jobs: int | None,
) -> int:
    """Run models and compare every result with eager PyTorch.

    Each MODEL is captured once, on its example inputs, in a separate process: a crash costs one
    row of the table. The exit status is the highest of all rows: 0 the result matches, 1 it
    differs, 2 the model cannot be found or built, 3 a stage failed. Ctrl-C prints the rows
    finished so far.
    """
    runners = arguments.split_names(runners) or DEFAULT_RUNNERS
    problem = _misused(runners, via, capture)
    if problem is not None:
        return _refuse(session, models, runners, problem)
    # Imported here, because `--help` does not need them.
    from importers.sources.model_string import is_model_string
    from unmess.core.processes.threads import processors, wait_passively
    from unmess.core.processes.workers import Parent
    from unmess.isolated import Options, libraries_of

    rows: list[Row] = []
    interrupted = False
    jobs = min(jobs or processors(), len(models))
    wait_passively(jobs)
    # Start it before the progress thread: a process with threads must not be forked.
    parent = Parent(libraries_of(models, runners))
    if any(map(is_model_string, models)):
        parent.begin()
    try:
        with parent, session.progress.showing():
            options = Options(
                **vars(capture),
                timeout=timeout,
                cpu=cpu,
                preset=preset,
                unchecked=unchecked,
                fallback=fallback,
                allow_ops=allow_ops,
                deny_ops=deny_ops,
                via=via,
                verbose=session.verbose,
                debug=session.debug,
            )
            _check_all(session, parent, models, runners, options, jobs, rows)
    except KeyboardInterrupt:
        interrupted = True
    # With several jobs, rows finish in any order.
    rows.sort(key=lambda row: (models.index(row.model), runners.index(row.runner)))
    if session.json:
        session.write_json([row.as_json() for row in rows])
    elif rows:
        _write_report(session, rows)
    if interrupted:
        total = len(models) * len(runners)
        say(f"interrupted: {len(rows)} of {total} checks are finished")
        return INTERRUPTED
    return max(row.exit_status for row in rows)


def _misused(runners: tuple[str, ...], via: str | None, capture: CaptureOptions) -> Error | None:
    """Returns one Error about all wrong names; None if all are right."""
    causes, places, hints = [], [], []
    for name in runners:
        try:
            check_runner(name)
        except Error as error:
            causes.append(error.cause)
            places += [error.where] if error.where else []
            hints.append(error.hint)
    if via is not None and via not in OUTPUT_DIALECTS:
        causes.append(f"unknown output dialect {via!r}")
        hints.append(f"an output dialect is one of {', '.join(OUTPUT_DIALECTS)}")
    if capture.strategy not in STRATEGIES:
        causes.append(f"unknown capture strategy {capture.strategy!r}")
        hints.append(f"a strategy is one of {', '.join(STRATEGIES)}")
    try:
        arguments.check_dynamic(capture.dynamic)
    except Error as error:
        causes.append(error.cause)
        hints.append(error.hint)
    if not causes:
        return None
    where = ", ".join(places) or None
    return Error("usage", "; ".join(causes), where=where, hint="; ".join(dict.fromkeys(hints)))


def _refuse(
    session: Session, models: tuple[str, ...], runners: tuple[str, ...], problem: Error
) -> int:
    if session.json:
        # JSON output always has one row per model and runner.
        rows = [Row.failed(model, runner, problem) for model in models for runner in runners]
        session.write_json([row.as_json() for row in rows])
    show_error(problem)
    return problem.exit_status


def _check_all(
    session: Session,
    parent: Parent,
    models: tuple[str, ...],
    runners: tuple[str, ...],
    options: Options,
    jobs: int,
    rows: list[Row],
) -> None:
    """Appends each row to `rows` as soon as it is finished."""
    from unmess.isolated import check_together

    total = len(models) * len(runners)

    def begin(model: str, stage: str, runner: str | None) -> None:
        place = f"{model} on {runner}" if runner else model
        session.progress.begin(f"{place}: {stage}")

    session.progress.begin(f"{models[0]}: loading PyTorch")
    found = check_together(
        *(parent, [(model, runners) for model in models], options, jobs),
        on_stage=begin,
        on_output=session.progress.line,
    )
    for row in found:
        rows.append(row)
        if total > len(DEFAULT_RUNNERS):
            session.progress.finished(
                f"[{len(rows)}/{total}] {row.model} on {row.place}: {row.stage}"
            )
        if row.traceback:
            session.progress.line(row.traceback.rstrip())


def _write_report(session: Session, rows: list[Row]) -> None:
    for count in range(len(_LEAVE_OUT) + 1):
        table = _table(rows, _LEAVE_OUT[:count])
        if session.fits(table):
            break
    session.write_table(table)
    # A model usually fails with the same error on all runners: print the error once.
    alike: dict[tuple[str, str | None], list[Row]] = {}
    for row in rows:
        alike.setdefault((row.model, row.error), []).append(row)
    for group in alike.values():
        text = _text(group, verbose=session.verbose)
        if text:
            session.write(text)


def _text(rows: list[Row], *, verbose: bool) -> str:
    """Returns the text about rows of one model that have the same error, or no error.

    The error is formatted like an `unmess.Error`.
    """
    row = rows[0]
    place = f"{row.model} on {', '.join(row.place for row in rows)}"
    lines = [place] if verbose and row.ok and row.notes else []
    if row.error is not None:
        error = Error(row.stage, row.error, where=row.where, hint=row.hint, repro=row.repro)
        cause, *rest = str(error).splitlines()
        lines = [cause, f"  model: {place}", *rest]
    lines += [f"  preset: {other.with_plain['text']}" for other in rows if other.with_plain]
    if verbose:
        lines += [f"  note: {note}" for note in row.notes]
        if row.detail:
            lines += ["  in full:", *(f"    {line}" for line in row.detail.splitlines())]
    return "\n".join(lines)


def _table(rows: list[Row], without: tuple[str, ...] = ()):
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading in ("model", "runner", "stage"):
        table.add_column(heading, overflow="fold")
    numbers = [
        heading for heading in ("max abs", "max rel", *STEPS, "peak") if heading not in without
    ]
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        cells = {
            "max abs": difference(row.max_abs_error),
            "max rel": difference(row.max_rel_error),
            **{step: duration(row.seconds.get(step)) for step in STEPS},
            "peak": "" if row.peak_rss_mb is None else f"{row.peak_rss_mb:,.0f} MB",
        }
        table.add_row(
            Text(row.model),
            row.place,
            Text(row.stage, style="green" if row.ok else "bold red"),
            *(cells[heading] for heading in numbers),
        )
    return table
