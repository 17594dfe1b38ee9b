"""`unmess triage`: reduces a failing model to a small program that fails in the same way."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.backends.table import check_runner
from unmess.cli import arguments
from unmess.cli.arguments import CaptureOptions
from unmess.cli.exit_status import INTERRUPTED
from unmess.cli.session import Session, command
from unmess.core.errors.stages import OUTPUT_DIALECTS
from unmess.core.files.writing import writing_to
from unmess.core.options.names import check_name

if TYPE_CHECKING:
    from unmess.triage import Finding


@click.command()
@arguments.model
@arguments.runner(default="iree-cpu")
@click.option(
    "--via",
    metavar="DIALECT",
    help=f"Run the IR of this output dialect: {', '.join(OUTPUT_DIALECTS)}. Default: linalg.",
)
@click.option(
    "--numerics",
    is_flag=True,
    help="For a wrong result: compare the values of MODEL with eager's in order, and name what "
    "makes the first wrong value wrong: the model, the capture, the lowering, the compiler, one of "
    "its presets, or precision. On IREE, also the dispatch.",
)
@click.option(
    "--time",
    "seconds",
    type=arguments.Seconds(),
    default=180.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for the search. The smallest program that was found until then is kept.",
)
@arguments.timeout(
    "Time limit for the check of MODEL itself: it hangs if it takes longer. Default: a third "
    "of --time.",
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MB",
    help="Memory that one program may allocate, in millions of bytes. Default: 80% of the "
    "available memory.",
)
@click.option(
    "-o", "--output", metavar="DIR", help="Write the files to this folder. Default: triage-MODEL."
)
@arguments.capture
@arguments.cpu
@arguments.preset
@arguments.unchecked
@command
def triage(
    session: Session,
    model: str,
    runner: str,
    via: str | None,
    numerics: bool,
    seconds: float,
    timeout: float | None,
    memory: float | None,
    output: str | None,
    capture: CaptureOptions,
    cpu: str,
    preset: str | None,
    unchecked: bool,
) -> int:
    """Find the stage at which MODEL fails, and the smallest program that fails in the same way.

    Each program is checked in a process of its own, so that crashes and hangs are findings, too.
    The folder has repro.py, repro.mlir if there is IR, the versions, and issue.md, ready to paste
    upstream. Ctrl-C keeps the smallest program so far. The exit status is 0 if repro.py shows the
    failure, or if the model does not fail; 1 if no reproducer was found.
    """
    check_runner(runner)
    if via is not None:
        check_name("output dialect", via, OUTPUT_DIALECTS)
    capture.check()
    # Imported here, because `--help` does not need them.
    from importers.sources.model_string import check_model_string
    from unmess.core.processes.workers import Parent
    from unmess.isolated import Options, libraries_of
    from unmess.triage.folder import check_folder
    from unmess.triage.triage import triage as run_triage

    check_model_string(model)
    folder = Path(output or "triage-" + re.sub(r"[^\w.-]+", "-", model).strip("-"))
    check_folder(folder)
    options = Options(
        **vars(capture),
        timeout=timeout,
        memory_mb=memory,
        cpu=cpu,
        preset=preset,
        unchecked=unchecked,
        via=via,
    )
    # Start it before the progress thread: a process with threads must not be forked.
    parent = Parent(libraries_of([model], [runner]))
    parent.begin()
    with parent, session.progress.showing():
        session.progress.begin(f"{model}: loading PyTorch")
        with writing_to(str(folder)):
            finding, interrupted = run_triage(
                *(parent, model, runner, options, seconds, folder),
                numerics=numerics,
                on_trial=lambda text: session.progress.begin(f"{model}: {text}"),
            )
    if session.json:
        found = finding.as_json() if finding else {}
        document = {"ok": finding is None, "model": model, "runner": runner, **found}
        session.write_json(document)
    elif finding is None:
        session.write(f"{model} on {runner} matches eager PyTorch: there is no failure to reduce")
    else:
        _show(session, model, runner, finding)
    if interrupted:
        return INTERRUPTED
    return 0 if finding is None or finding.reproduces else 1


def _show(session: Session, model: str, runner: str, finding: Finding) -> None:
    after = "no program without the model's own code fails alike"
    if finding.after is not None:
        after = f"{finding.after}, reduced from {finding.before}"
    if not finding.is_complete:
        after += " (the search is not complete: a longer --time may find a smaller program)"
    rows = [
        ("model", f"{model} on {runner}"),
        ("stage", finding.stage),
        ("failure", f"{finding.kind}: {finding.cause}"),
        ("first wrong", finding.value),
        ("cause", finding.origin),
        ("dispatch", finding.dispatch),
        ("operator", finding.operator),
        ("at", finding.where),
        ("module", finding.module),
        ("operators", after),
        ("IR", _about_ir(finding)),
        ("known limit", finding.limit and str(finding.limit)),
        ("folder", f"{finding.folder} ({', '.join(finding.files)})"),
        ("next", _next(finding)),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        if value:
            session.write(f"{name:{width}}  {value}")


def _about_ir(finding: Finding) -> str | None:
    count = finding.ir_operations
    return None if count is None else f"repro.mlir fails alone: {count} operations"


def _next(finding: Finding) -> str:
    if finding.after is None and finding.ir_operations is None:
        return "remove parts of the module by hand; repro.py checks it"
    if finding.reproduces is False:
        return "repro.py did not show the failure by itself: run `unmess check` on it"
    return f"paste {finding.folder}/issue.md into an issue of {finding.tool}"
