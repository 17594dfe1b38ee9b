"""`unmess check`: models on runners, each result beside eager PyTorch's."""

from __future__ import annotations

import click

from unmess.cli import arguments
from unmess.cli.format import difference, duration
from unmess.cli.session import INTERRUPTED, Session, command, show_error
from unmess.core.error import Error
from unmess.core.names import DEFAULT_RUNNERS, EXITS, RUNNERS, STRATEGIES
from unmess.core.row import STEPS, Row
from unmess.isolated import Options, check_isolated

# On a terminal that is too narrow, these go, the first one first.
_LEAVE_OUT = ("load", "import", "peak", "max abs", "lower", "eager", "compile")


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option(
    "--on",
    "runners",
    multiple=True,
    metavar="RUNNER[,RUNNER...]",
    help=f"Where to run: {', '.join(RUNNERS)}; may be repeated. "
    f"Default: {','.join(DEFAULT_RUNNERS)}.",
)
@click.option(
    "--via",
    metavar="EXIT",
    help=f"Run the IR of this exit: {', '.join(EXITS)}. Default: linalg. For the reference runner, "
    "tosa and stablehlo are lowered to linalg; IREE takes them as they are.",
)
@arguments.inputs
@arguments.dynamic
@arguments.strategy
@arguments.cpu
@arguments.preset
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="For each model and runner (the first runner's includes the capture). Default: none.",
)
@command
def check(
    session: Session,
    models: tuple[str, ...],
    runners: tuple[str, ...],
    via: str | None,
    inputs: tuple[str, ...],
    dynamic: tuple[str, ...],
    strategy: str,
    cpu: str,
    preset: str | None,
    timeout: float | None,
) -> int:
    """Run models and compare every result with eager PyTorch.

    Each MODEL is captured once, on its example inputs, in a process of its own: a crash costs one
    row of the table. The exit status is the highest of the rows': 0 the result matches, 1 it
    differs, 2 the model cannot be found or built, 3 a stage failed. Ctrl-C prints the rows
    finished so far.
    """
    runners = tuple(dict.fromkeys(name for names in runners for name in names.split(",")))
    runners = runners or DEFAULT_RUNNERS
    problem = _misused(runners, via, dynamic, strategy)
    if problem is not None:
        return _refuse(session, models, runners, problem)
    rows: list[Row] = []
    interrupted = False
    try:
        with session.progress.showing():
            options = Options(
                strategy=strategy,
                inputs=inputs,
                dynamic=dynamic,
                timeout=timeout,
                cpu=cpu,
                preset=preset,
                via=via,
                verbose=session.verbose,
                debug=session.debug,
            )
            _check_all(session, models, runners, options, rows)
    except KeyboardInterrupt:
        interrupted = True
    if session.json:
        session.write_json([row.as_json() for row in rows])
    elif rows:
        _write_report(session, rows)
    if interrupted:
        total = len(models) * len(runners)
        click.echo(f"interrupted: {len(rows)} of {total} checks finished", err=True)
        return INTERRUPTED
    return max(row.exit_status for row in rows)


def _misused(
    runners: tuple[str, ...], via: str | None, dynamic: tuple[str, ...], strategy: str
) -> Error | None:
    """Everything that is wrong with the names, at once; None where they are right."""
    unknown = [name for name in runners if name not in RUNNERS]
    causes, hints = [], []
    if unknown:
        causes.append(f"unknown runner {', '.join(map(repr, unknown))}")
        hints.append(f"a runner is one of {', '.join(RUNNERS)}")
    if via is not None and via not in EXITS:
        causes.append(f"unknown exit {via!r}")
        hints.append(f"an exit is one of {', '.join(EXITS)}")
    if strategy not in STRATEGIES:
        causes.append(f"unknown capture strategy {strategy!r}")
        hints.append(f"a strategy is one of {', '.join(STRATEGIES)}")
    try:
        arguments.check_dynamic(dynamic)
    except Error as error:
        causes.append(error.cause)
        hints.append(error.hint)
    return Error("usage", "; ".join(causes), hint="; ".join(hints)) if causes else None


def _refuse(
    session: Session, models: tuple[str, ...], runners: tuple[str, ...], problem: Error
) -> int:
    if session.json:
        # Who reads rows gets rows.
        rows = [Row.failed(model, runner, problem) for model in models for runner in runners]
        session.write_json([row.as_json() for row in rows])
    show_error(problem)
    return problem.exit_status


def _check_all(
    session: Session,
    models: tuple[str, ...],
    runners: tuple[str, ...],
    options: Options,
    rows: list[Row],
) -> None:
    """Appends to `rows` each row that is finished."""
    total = len(models) * len(runners)
    for model in models:

        def begin(stage: str, runner: str | None, model: str = model) -> None:
            place = f"{model} on {runner}" if runner else model
            session.progress.begin(f"{place}: {stage}")

        session.progress.begin(f"{model}: loading PyTorch")
        for row in check_isolated(
            model, runners, options, on_stage=begin, on_output=session.progress.line
        ):
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
    # What stopped a model on one runner most often stops it on the others, too.
    alike: dict[tuple[str, str | None], list[Row]] = {}
    for row in rows:
        alike.setdefault((row.model, row.error), []).append(row)
    for group in alike.values():
        text = _text(group, verbose=session.verbose)
        if text:
            session.write(text)


def _text(rows: list[Row], *, verbose: bool) -> str:
    """What is to be said about rows of one model that stopped for the same reason, or did not.

    The reason has the form of an `unmess.Error`.
    """
    row = rows[0]
    place = f"{row.model} on {', '.join(row.place for row in rows)}"
    lines = [place] if verbose and row.ok and row.notes else []
    if row.error is not None:
        error = Error(row.stage, row.error, where=row.where, hint=row.hint, repro=row.repro)
        cause, *rest = str(error).splitlines()
        lines = [cause, f"  model: {place}", *rest]
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
