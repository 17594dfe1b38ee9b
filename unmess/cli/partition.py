"""`unmess partition`: shows which parts of a model a runner compiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.backends.table import check_runner
from unmess.cli import arguments
from unmess.cli.arguments import CaptureOptions
from unmess.cli.cached import working
from unmess.cli.session import Session, command
from unmess.core.files.writing import check_writable, write_text, writing_to
from unmess.program_cache.request import Request

if TYPE_CHECKING:
    from unmess.partition import PartitionedGraph


@click.command("partition")
@arguments.model
@arguments.runner(default="iree-cpu")
@arguments.allow_op
@arguments.deny_op
@click.option(
    "--min-operators",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Regions with fewer operators run in eager PyTorch, unless they have a matrix product "
    "or a convolution.",
)
@click.option(
    "-o", "--output", metavar="FILE", help="Write the partition to FILE as JSON: partition.json."
)
@click.option("--html", metavar="FILE", help="Write a page with a drawing to FILE.")
@arguments.capture
@arguments.cpu
@arguments.preset
@arguments.unchecked
@command
def partition_(
    session: Session,
    model: str,
    runner: str,
    allow_ops: tuple[str, ...],
    deny_ops: tuple[str, ...],
    min_operators: int,
    output: str | None,
    html: str | None,
    capture: CaptureOptions,
    cpu: str,
    preset: str | None,
    unchecked: bool,
) -> None:
    """Show the regions of MODEL that a runner compiles, and the operators outside of them.

    Those run in eager PyTorch with `unmess run --fallback eager` and `unmess.load(…,
    fallback="eager")`. The table names the reason and the source line of each. Nothing is run.
    """
    check_runner(runner)
    capture.check()
    for file in (output, html):
        if file is not None:
            check_writable(Path(file))
    request = Request(model, **vars(capture))
    with working(session, request, from_pytorch=True) as cached:
        program = cached.program()
        import unmess
        from unmess.partition.document import document
        from unmess.partition.loading import divide
        from unmess.partition.options import PartitionOptions

        options = PartitionOptions(
            unmess.TargetOptions(cpu=cpu, preset=preset),
            unchecked,
            allow_ops,
            deny_ops,
            min_operators,
        )
        partitions = divide(
            program,
            runner,
            options,
            on_attempt=lambda text: session.progress.begin(f"{model}: compile {text}"),
        )
        described = document(partitions, runner)
        if html is not None:
            from unmess.partition.drawing import page

            _write(html, page(partitions, f"{model} on {runner}"))
    if output is not None:
        _write(output, json.dumps({"model": model, **described}, indent=2) + "\n")
    if session.json:
        session.write_json({"ok": True, "model": model, **described, "html": html})
        return
    for entry, each in partitions.items():
        prefix = f"{model} on {runner}"
        _show(session, prefix if len(partitions) == 1 else f"{prefix}: {entry}", each)


def _write(path: str, text: str) -> None:
    with writing_to(path):
        write_text(Path(path), text)


def _show(session: Session, place: str, partition: PartitionedGraph) -> None:
    from unmess.partition.document import outside_rows

    if not partition.outside:
        session.write(f"{place}: compiles as a whole, {_counted(partition)}")
        return
    session.write(
        f"{place}: {partition.compiled_share:.1%} of {partition.flops:,} floating-point "
        f"operations are compiled, {_counted(partition)}"
    )
    rows: list[list[Any]] = [
        [
            region.name,
            str(region.operators),
            f"{region.flops:,}",
            f"{region.flops / partition.flops:.1%}" if partition.flops else "",
        ]
        for region in partition.regions
    ]
    session.write_table(_table(("region", "operators", "FLOPs", "share"), rows))
    rows = [
        [row["operator"], str(row["count"]), row["where"] or "", row["reason"]]
        for row in outside_rows(partition)
    ]
    session.write_table(_table(("in eager PyTorch", "calls", "at", "reason"), rows))
    for text in partition.warnings:
        session.write(f"warning: {text}")


def _counted(partition: PartitionedGraph) -> str:
    inside, outside = sum(region.operators for region in partition.regions), len(partition.outside)
    regions = len(partition.regions)
    text = f"{inside} operators in {regions} region{'s' * (regions != 1)}"
    return f"{text}, {outside} outside" if outside else text


def _table(headings: tuple[str, ...], rows: list[list[str]]):
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        is_number = heading in ("operators", "FLOPs", "share", "calls")
        table.add_column(heading, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
