"""`unmess recipe`: writes a Markdown page about a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from pipelines.backends.table import DEFAULT_RUNNERS, check_runner
from unmess.cli import arguments
from unmess.cli.arguments import CaptureOptions
from unmess.cli.session import Session, command
from unmess.core.errors.error import Error
from unmess.core.errors.stages import OUTPUT_DIALECTS
from unmess.core.files.writing import check_writable, write_text, writing_to


@click.command()
@arguments.model
@click.option(
    "-o", "--output", metavar="FILE", help="Write the page to FILE. Default: print it on stdout."
)
@arguments.runners
@arguments.dialects
@click.option(
    "--results",
    metavar="DIR",
    help="Take the results from a folder of `unmess matrix`, and check nothing. --on and --via "
    "then select results.",
)
@arguments.timeout(
    "Time limit for each stage of the IR, and for each runner and output dialect.",
    default=600.0,
)
@arguments.capture
@command
def recipe(
    session: Session,
    model: str,
    output: str | None,
    runners: tuple[str, ...],
    dialects: tuple[str, ...],
    results: str | None,
    timeout: float,
    capture: CaptureOptions,
) -> None:
    """Write a Markdown page about MODEL: how to import it, and what works.

    Its inputs, dynamic dimensions and weights; the commands that work; its results on every runner
    and output dialect; the causes of failures; parameters, FLOPs, operations by dialect and the
    first lines of the IR at each stage; and the repairs that it needs. Everything runs in separate
    processes. A stage that fails is a part of the page, not an error.
    """
    runners = arguments.split_names(runners)
    for name in runners:
        check_runner(name)
    capture.check()
    file = None if output is None else Path(output)
    if file is not None:
        check_writable(file)
    # Imported here, because `--help` does not need them.
    from importers.sources.model_string import check_model_string
    from unmess.core.processes.workers import Parent
    from unmess.isolated import Options, libraries_of
    from unmess.matrix.cells import dialects_of
    from unmess.matrix.folder import read_matrix
    from unmess.recipe_page.gathering import gather, places_of, rows_of
    from unmess.recipe_page.page import page

    names = dialects_of(arguments.split_names(dialects))
    check_model_string(model)
    rows = None
    if results is not None:
        if replace(capture, trust=False) != CaptureOptions():
            raise Error(
                "usage",
                "the results of a matrix are for the model's own inputs",
                hint="omit --results, or omit --input, --dynamic, --strategy and --only",
            )
        rows = rows_of(model, read_matrix(Path(results)), Path(results), runners, names)
    chosen = {"--on": ",".join(runners), "--via": ",".join(dialects), "--results": results}
    runners = runners or DEFAULT_RUNNERS
    options = Options(
        **vars(capture),
        timeout=timeout,
        verbose=session.verbose,
        debug=session.debug,
    )

    def begin(stage: str, runner: str | None) -> None:
        place = f"{model} on {runner}" if runner else model
        session.progress.begin(f"{place}: {stage}")

    # Start it before the progress thread: a process with threads must not be forked.
    parent = Parent(libraries_of([model], runners))
    parent.begin()
    with parent, session.progress.showing():
        session.progress.begin(f"{model}: loading PyTorch")
        facts = gather(
            *(parent, model, options, places_of(runners, names or list(OUTPUT_DIALECTS))),
            arguments=[part for name, value in chosen.items() if value for part in (name, value)],
            rows=rows,
            folder=None if results is None else Path(results),
            on_stage=begin,
            on_output=session.progress.line,
        )
    text = page(facts)
    if file is not None:
        with writing_to(file):
            write_text(file, text)
    if facts.program is not None:
        session.say_notes(facts.program.notes)
    if session.json:
        document = {"ok": True, "output": output, "page": None if file is not None else text}
        session.write_json({**document, **facts.as_json()})
    elif file is None:
        session.write(text)
