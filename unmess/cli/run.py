"""`unmess run`: runs a model on its example inputs and shows the result."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import click

from pipelines.backends.table import AUTO, BUNDLED, RUNNERS, check_runner
from unmess import describe
from unmess.cli import arguments, bundled_run
from unmess.cli.arguments import CaptureOptions
from unmess.cli.bundled_run import Done, timed
from unmess.cli.cached import Cached, working
from unmess.cli.session import Session, command
from unmess.core.errors.error import first_line
from unmess.core.files.writing import check_writable, replacing, writing_to
from unmess.format import duration
from unmess.program_cache.bundles import Choice
from unmess.program_cache.capturing import Need
from unmess.program_cache.request import Request


@click.command()
@arguments.model
@arguments.runner(default="reference", more=f"; {AUTO} for the one that `unmess tune` chose")
@arguments.quantized_capture
@arguments.cpu
@arguments.preset
@arguments.unchecked
@arguments.fallback
@arguments.allow_op
@arguments.deny_op
@arguments.print_after
@arguments.no_cache
@click.option(
    "--repeat",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    metavar="N",
    help="Number of timed calls, after the call whose result is shown.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the result to FILE with torch.save.")
@click.option("--entry", metavar="NAME", help="Entry point to call, if there are several.")
@command
def run(
    session: Session,
    model: str,
    runner: str,
    capture: CaptureOptions,
    cpu: str,
    preset: str | None,
    unchecked: bool,
    fallback: str | None,
    allow_ops: tuple[str, ...],
    deny_ops: tuple[str, ...],
    print_after: tuple[str, ...],
    no_cache: bool,
    repeat: int,
    output: str | None,
    entry: str | None,
) -> None:
    """Run MODEL on its example inputs and show the result, tensor by tensor."""
    if runner != AUTO:
        check_runner(runner)
    capture.check()
    if output is not None:
        check_writable(Path(output))
    request = Request(
        model,
        **vars(capture),
        fold_constants=_folds_constants(runner),
    )
    choice = Choice(cpu, preset, unchecked)
    need = Need(call=True, containers=output is not None)
    loading = {"fallback": fallback, "allow_ops": allow_ops, "deny_ops": deny_ops}
    from_pytorch = fallback is not None
    with working(
        session,
        request,
        need,
        no_cache=no_cache,
        print_after=print_after,
        from_pytorch=from_pytorch,
    ) as cached:
        # A bundle returns NumPy arrays, but torch.save writes tensors.
        done = None
        if runner == BUNDLED and output is None and not any(loading.values()):
            done = bundled_run.run(cached, choice, entry, repeat)
        if done is None:
            done = _run(cached, runner, choice, loading, entry, repeat, output)
    if session.json:
        session.write_json(
            {
                "ok": True,
                "model": model,
                "runner": runner,
                "results": done.leaves,
                "output": output,
                "notes": list(done.notes),
                "seconds": done.seconds | {"run": done.median},
            }
        )
        return
    session.write_table(_table(done.leaves))
    steps = done.seconds | ({"run": done.median} if done.times else {})
    session.write(", ".join(f"{step} {duration(value)}" for step, value in steps.items()))
    session.say_notes(done.notes)


def _folds_constants(runner: str) -> bool:
    """Returns whether a backend takes programs with folded constants. Built-in runners do not."""
    if runner in (*RUNNERS, AUTO):
        return False
    # Imported here, because it imports the backend's file.
    from pipelines.backends.finding import find_backend

    return find_backend(runner).input.fold_constants


def _run(
    cached: Cached,
    runner: str,
    choice: Choice,
    loading: dict[str, Any],
    entry: str | None,
    repeat: int,
    output: str | None,
) -> Done:
    """Runs the program as an Executable, on PyTorch tensors.

    Args:
        loading: further arguments of `unmess.load`.
    """
    import torch

    import unmess
    from unmess.core.processes.current_stage import enter_stage

    found = cached.found()
    program = found.program
    target = unmess.TargetOptions(cpu=choice.cpu, preset=choice.preset)
    executable = unmess.load(
        program, on=runner, target=target, unchecked=choice.unchecked, **loading
    )
    if isinstance(program, unmess.Programs):
        entry = entry or next(iter(program.entries))
    if entry is not None:
        executable = executable[entry]
    if isinstance(program, unmess.Programs):
        program = program[entry]
    enter_stage("run")
    result, times = timed(lambda: executable(*program.args, **program.kwargs), repeat)
    if output is not None:
        _save(torch, result, output)
    paths = None if found.entry is None else bundled_run.paths(found.entry, entry)
    return Done(
        leaves=describe.result(result, paths),
        notes=tuple(map(str, (*program.notes, *executable.notes))),
        seconds=executable.seconds,
        times=times,
    )


def _save(torch: Any, result: Any, output: str) -> None:
    with writing_to(output), replacing(output) as unfinished, unfinished.open("wb") as file:
        try:
            torch.save(result, file)
        except RuntimeError as problem:
            # After a failed write, PyTorch's writer raises a second error that hides the first.
            if isinstance(problem.__context__, OSError):
                raise problem.__context__ from problem
            raise OSError(errno.EIO, first_line(problem)) from problem


def _table(leaves: list[dict[str, Any]]):
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading in ("result", "dtype", "shape", "first values"):
        table.add_column(heading, overflow="fold")
    for heading in ("min", "max", "mean"):
        table.add_column(heading, justify="right", no_wrap=True)
    for leaf in leaves:
        shape = "" if leaf["shape"] is None else "x".join(map(str, leaf["shape"])) or "scalar"
        statistics_ = [_number(leaf.get(name)) for name in ("min", "max", "mean")]
        nonfinite = leaf.get("nonfinite")
        values = " ".join(_number(value) for value in leaf["values"])
        if nonfinite:
            values += f" ({nonfinite} NaN or infinite)"
        table.add_row(Text(leaf["path"]), leaf["dtype"], shape, Text(values), *statistics_)
    return table


def _number(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)
