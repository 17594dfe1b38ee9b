"""`unmess run`: a model on a runner, on its example inputs."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import click

from unmess.cli import arguments, describe
from unmess.cli.format import duration
from unmess.cli.session import Session, command
from unmess.cli.writable import check_writable
from unmess.core.error import Error
from unmess.core.names import check_runner


@click.command()
@arguments.model
@arguments.runner(default="reference")
@arguments.inputs
@arguments.dynamic
@arguments.strategy
@arguments.cpu
@arguments.preset
@arguments.print_after
@click.option(
    "--repeat",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    metavar="N",
    help="Timed calls, after the one whose result is shown.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the result there with torch.save.")
@click.option("--entry", metavar="NAME", help="The entry point, where there are several.")
@command
def run(
    session: Session,
    model: str,
    runner: str,
    inputs: tuple[str, ...],
    dynamic: tuple[str, ...],
    strategy: str,
    cpu: str,
    preset: str | None,
    print_after: tuple[str, ...],
    repeat: int,
    output: str | None,
    entry: str | None,
) -> None:
    """Run MODEL on its example inputs and show the result, tensor by tensor."""
    check_runner(runner)
    arguments.check_dynamic(dynamic)
    arguments.check_strategy(strategy)
    if output is not None:
        check_writable(Path(output))
    with session.working(model, print_after):
        import torch

        import unmess
        from unmess.captured import captured
        from unmess.core.current_stage import enter_stage

        program = captured(model, inputs, dynamic, strategy)
        executable = unmess.load(
            program, on=runner, target=unmess.TargetOptions(cpu=cpu, preset=preset)
        )
        if isinstance(program, unmess.Programs):
            entry = entry or next(iter(program.entries))
        if entry is not None:
            executable = executable[entry]
        if isinstance(program, unmess.Programs):
            program = program[entry]
        enter_stage("run")
        result = executable(*program.args, **program.kwargs)
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            executable(*program.args, **program.kwargs)
            times.append(time.perf_counter() - start)
    median = statistics.median(times) if times else None
    if output is not None:
        _save(torch, result, output)
    leaves = describe.result(result)
    notes = (*program.notes, *executable.notes)
    if session.json:
        session.write_json(
            {
                "ok": True,
                "model": model,
                "runner": runner,
                "results": leaves,
                "output": output,
                "notes": [str(note) for note in notes],
                "seconds": executable.seconds | {"run": median},
            }
        )
        return
    session.write_table(_table(leaves))
    steps = executable.seconds | ({"run": median} if times else {})
    session.write(", ".join(f"{step} {duration(value)}" for step, value in steps.items()))
    session.say_notes(notes)


def _save(torch: Any, result: Any, output: str) -> None:
    try:
        torch.save(result, output)
    except (OSError, RuntimeError) as problem:
        # PyTorch reports a full disk as a RuntimeError.
        raise Error("usage", f"cannot write {output}: {problem}") from problem


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
