"""`unmess matrix`: checks many models on many backends and output dialects."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.backends.table import DEFAULT_RUNNERS, check_runner
from unmess.cli import arguments
from unmess.cli.exit_status import INTERRUPTED
from unmess.cli.session import Session, command
from unmess.cli.streams import say
from unmess.core.errors.stages import OUTPUT_DIALECTS
from unmess.core.processes.threads import processors
from unmess.progress import Count

if TYPE_CHECKING:
    from unmess.core.processes.workers import Parent
    from unmess.isolated import Options
    from unmess.matrix.cells import Cell
    from unmess.matrix.difference import Difference
    from unmess.matrix.folder import MatrixFolder
    from unmess.row import Row


@click.group(invoke_without_command=True)
@arguments.patterns
@arguments.runners
@arguments.dialects
@arguments.jobs("Models that are checked at the same time.")
@arguments.timeout(
    "Time limit for each cell; that of a model's first one includes the capture.",
    default=600.0,
)
@arguments.memory
@arguments.shard("Check only the I-th of N shares of the models.")
@click.option(
    "--again",
    type=click.Choice(("failed", "all")),
    help="Also check the cells again that have a result, or that have failed.",
)
@arguments.output_folder(
    "matrix", "Write the results to this folder. A later run adds the missing results."
)
@arguments.trust
@command
def matrix(
    session: Session,
    patterns: tuple[str, ...],
    runners: tuple[str, ...],
    dialects: tuple[str, ...],
    jobs: int | None,
    timeout: float,
    memory: float | None,
    shard: str,
    again: str | None,
    output: str,
    trust: bool,
) -> int:
    """Check many models on many backends and output dialects, and keep the results in a folder.

    Each cell is one model on one runner by one output dialect, as `unmess check` runs it: in a
    separate process, so that a crash, a hang or a lack of memory costs one cell. DIR gets
    rows.jsonl, with a line for each cell as soon as it is finished, and reproducers. After an
    interruption, run the command again. `unmess report DIR` writes a page. The exit status is the
    highest of all cells, as for `unmess check`.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return 0
    runners = arguments.split_names(runners) or DEFAULT_RUNNERS
    for name in runners:
        check_runner(name)
    # Imported here, because `--help` does not need them.
    from unmess.core.processes.threads import wait_passively
    from unmess.core.processes.workers import Parent
    from unmess.environment.versions import versions
    from unmess.isolated import Options, libraries_of
    from unmess.matrix.cells import Cell, dialects_of, matching_models, parse_shard
    from unmess.matrix.folder import opened
    from unmess.matrix.running import missing_cells

    share = parse_shard(shard)
    vias = dialects_of(arguments.split_names(dialects) or OUTPUT_DIALECTS)
    models = share.of(matching_models(patterns))
    cells = [Cell(model, runner, via) for model in models for via in vias for runner in runners]
    options = Options(
        timeout=timeout,
        memory_mb=memory,
        trust=trust,
        verbose=session.verbose,
        debug=session.debug,
    )
    interrupted = False
    jobs = jobs or processors()
    wait_passively(jobs)
    with opened(Path(output), share, versions()) as folder:
        missing = missing_cells(cells, folder.results, again)
        if len(missing) < len(cells):
            say(f"{len(cells) - len(missing)} of {len(cells)} cells are in {output} already")
        try:
            if missing:
                # Start it before the progress thread: a process with threads must not be forked.
                parent = Parent(libraries_of(models, runners))
                parent.begin()
                _run(session, parent, missing, options, jobs, folder)
        except KeyboardInterrupt:
            interrupted = True
        rows = [folder.results[cell] for cell in cells if cell in folder.results]
    _write(session, rows)
    if interrupted:
        say(f"interrupted: {len(rows)} of {len(cells)} cells are finished; run it again to go on")
        return INTERRUPTED
    return max((row.exit_status for row in rows), default=0)


def _run(
    session: Session,
    parent: Parent,
    missing: list[Cell],
    options: Options,
    jobs: int,
    folder: MatrixFolder,
) -> None:
    """Runs the missing cells, and shows how many are finished and how long the others take."""
    from unmess.matrix.running import run_cells
    from unmess.matrix.summary import state

    left = Count(len(missing))

    def begin(model: str, stage: str, runner: str | None) -> None:
        place = f"{model} on {runner}" if runner else model
        session.progress.begin(f"[{left}] {place}: {stage}")

    with parent, session.progress.showing():
        session.progress.begin("loading PyTorch")
        found = run_cells(
            *(parent, missing, options, jobs, folder),
            on_stage=begin,
            on_output=session.progress.line,
        )
        for row in found:
            left.finish_one()
            session.progress.finished(f"[{left}] {row.model} on {row.place}: {state(row)}")
            if row.traceback:
                session.progress.line(row.traceback.rstrip())


def _write(session: Session, rows: list[Row]) -> None:
    from unmess.matrix.summary import columns_of

    if session.json:
        session.write_json([row.as_json() for row in rows])
        return
    for column in columns_of(rows):
        session.write(str(column))


@matrix.command()
@click.argument("old")
@click.argument("new")
@click.option(
    "--factor",
    type=click.FloatRange(min=1, min_open=True),
    default=10.0,
    show_default=True,
    help="A relative error that grows or shrinks by more than this factor is a change. Errors "
    "below 1e-7 count as 1e-7.",
)
@command
def diff(session: Session, old: str, new: str, factor: float) -> int:
    """List what got better and worse between two folders or files of results.

    A cell gets worse if it stops at an earlier stage, or if its error grows. Times are only
    printed. The exit status is 1 if a cell got worse.
    """
    from unmess.matrix.difference import difference
    from unmess.matrix.folder import read_matrix

    found = difference(read_matrix(Path(old)), read_matrix(Path(new)), factor)
    if session.json:
        session.write_json(_document(found))
    else:
        _write_difference(session, found, old, new)
    return 1 if found.worse else 0


def _write_difference(session: Session, found: Difference, old: str, new: str) -> None:
    for title, changes in (("better", found.better), ("worse", found.worse)):
        for change in changes:
            place = f"{change.cell.model} on {change.cell.column}"
            session.write(f"{title}: {place}: {change.before} -> {change.after}")
    for column, ratio in found.times.items():
        session.write(f"time on {column}: {ratio:.2f} times the old one (median)")
    for count, folder in ((len(found.removed), old), (len(found.added), new)):
        if count:
            session.write(f"only in {folder}: {count} cells")
    session.write(f"{len(found.worse)} got worse, {len(found.better)} got better")


def _document(found: Difference) -> dict[str, Any]:
    return {
        "ok": not found.worse,
        "changes": [
            {**change.cell._asdict(), **asdict(change), "cell": change.cell.column}
            for change in found.changes
        ],
        "removed": [cell._asdict() for cell in found.removed],
        "added": [cell._asdict() for cell in found.added],
        "times": found.times,
    }
