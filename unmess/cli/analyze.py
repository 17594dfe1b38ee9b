"""`unmess analyze`: counts the operations of a model's IR and the cost of a call."""

from __future__ import annotations

from pathlib import Path

import click

from unmess.cli import arguments
from unmess.cli.arguments import CaptureOptions
from unmess.cli.cached import working
from unmess.cli.session import Session, command
from unmess.core.errors.error import Error
from unmess.core.errors.stages import IR_STAGES
from unmess.core.files.writing import check_writable, write_text, writing_to
from unmess.core.options.names import IR_SUFFIXES, check_stage
from unmess.program_cache.request import Request


@click.command()
@arguments.model
@click.option(
    "--at",
    metavar="STAGE",
    help=f"Stage to analyze: {', '.join(IR_STAGES)}. Default: linalg, or the stage of the file.",
)
@click.option("--html", metavar="FILE", help="Write a page with plots to FILE.")
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set the size of a dynamic dimension; may be repeated. Default: the size in the "
    "example call.",
)
@click.option(
    "--top",
    default=15,
    show_default=True,
    metavar="N",
    help="Number of rows of each table; 0 for all rows.",
)
@arguments.cacheable_capture
@command
def analyze(
    session: Session,
    model: str,
    at: str | None,
    html: str | None,
    sizes: tuple[str, ...],
    top: int,
    capture: CaptureOptions,
    no_cache: bool,
) -> None:
    """Count the operations of MODEL, or of an MLIR file, and the cost of one call.

    Lists the operations by dialect, the distinct bodies of linalg operations, the floating-point
    operations, bytes and weights by layer and source line, and the peak of live memory. Nothing is
    run. With -v, also lists every form in which a body is applied.
    """
    if at is not None:
        check_stage(at)
    capture.check()
    if top < 0:
        raise Error(
            "usage",
            f"--top is {top}, but must be at least 0",
            hint="pass a number of rows, or 0 for all",
        )
    values = arguments.split_sizes("--size", sizes)
    file = None if html is None else Path(html)
    if file is not None:
        check_writable(file)
    is_file = model.endswith(IR_SUFFIXES)
    if is_file:
        hint = "pass --size NAME=VALUE to set a dynamic size"
        arguments.check_no_example(model, capture, hint)
        arguments.check_no_quantization(model, capture)
        with session.working(model, pytorch=False):
            from pipelines.analysis.analysis import analyze_file

            analysis = analyze_file(model, at, values)
    else:
        request = Request(model, **vars(capture))
        with working(session, request, no_cache=no_cache) as cached:
            import unmess

            analysis = unmess.analyze(cached.program(), at, values)
    if file is not None:
        from unmess.analysis.page import page

        with writing_to(file):
            write_text(file, page(analysis))
    if session.json:
        from unmess.analysis.document import document

        session.write_json({"ok": True, **document(analysis), "html": html})
        return
    from unmess.analysis.text import blocks

    for block in blocks(analysis, top or None, session.verbose):
        if isinstance(block, str):
            session.write(block)
        else:
            session.write_table(block)
            session.write("")
