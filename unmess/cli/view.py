"""`unmess view`: shows a model's IR as a graph."""

from __future__ import annotations

import contextlib
import webbrowser

import click

from unmess.cli import arguments
from unmess.cli.arguments import CaptureOptions
from unmess.cli.session import Session, command
from unmess.core.errors.stages import IR_STAGES
from unmess.core.options.names import IR_SUFFIXES, check_stage


@click.command()
@arguments.model
@click.option(
    "--at",
    metavar="STAGE",
    help=f"Stage to show: {', '.join(IR_STAGES)}. Default: torch, or the stage of the file.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port of the server. Default: a free one."
)
@click.option("--no-browser", is_flag=True, help="Print the address, but open no browser.")
@arguments.capture
@command
def view(
    session: Session,
    model: str,
    at: str | None,
    port: int | None,
    no_browser: bool,
    capture: CaptureOptions,
) -> None:
    """Open MODEL, or an MLIR file, in the graph viewer Netron.

    The command runs a local web server until you press Ctrl-C.
    """
    if at is not None:
        check_stage(at)
    capture.check()
    is_file = model.endswith(IR_SUFFIXES)
    if is_file:
        arguments.check_no_example(model, capture)
    from unmess.viewing import Viewer

    # Open the port first: one that is taken is reported before the model is captured.
    with Viewer(port) as viewer:
        with session.working(model, pytorch=not is_file):
            if is_file:
                from pipelines.files import read_module

                module = read_module(model, at)
            else:
                import unmess
                from unmess.captured import captured

                module = unmess.lower(
                    captured(model, **vars(capture)),
                    to=at or "torch",
                )
            viewer.show(module)
        # While the module is served, Ctrl-C is the normal way to end the command.
        with contextlib.suppress(KeyboardInterrupt):
            if session.json:
                session.write_json(
                    {"ok": True, "model": model, "stage": module.stage, "url": viewer.address}
                )
            else:
                session.write(
                    f"{module.name} at stage {module.stage}: {viewer.address} (press Ctrl-C "
                    "to stop)"
                )
            if not no_browser:
                webbrowser.open(viewer.address)
            viewer.wait()
