"""`unmess view`: a model's IR as a graph."""

from __future__ import annotations

import click

from unmess.cli import arguments
from unmess.cli.session import Session, command
from unmess.core.names import IR_SUFFIXES, STAGES, check_stage


@click.command()
@arguments.model
@click.option(
    "--at",
    metavar="STAGE",
    help=f"One of {', '.join(STAGES)}. Default: torch, or the stage of the file.",
)
@click.option("--port", type=click.IntRange(1, 65535), help="Where to serve. Default: a free one.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@arguments.inputs
@arguments.dynamic
@arguments.strategy
@command
def view(
    session: Session,
    model: str,
    at: str | None,
    port: int | None,
    no_browser: bool,
    inputs: tuple[str, ...],
    dynamic: tuple[str, ...],
    strategy: str,
) -> None:
    """Open MODEL, or an MLIR file, in the graph viewer Netron.

    It is served from here until this is interrupted.
    """
    if at is not None:
        check_stage(at)
    arguments.check_dynamic(dynamic)
    arguments.check_strategy(strategy)
    is_file = model.endswith(IR_SUFFIXES)
    if is_file:
        arguments.check_no_example(model, inputs, dynamic)
    with session.working(model, pytorch=not is_file):
        from unmess.viewing import serve, wait

        if is_file:
            from pipelines.files import read_module

            module = read_module(model, at)
        else:
            import unmess
            from unmess.captured import captured

            module = unmess.lower(captured(model, inputs, dynamic, strategy), to=at or "torch")
    address = serve(module, port, browse=not no_browser)
    if session.json:
        session.write_json({"ok": True, "model": model, "stage": module.stage, "url": address})
    else:
        session.write(f"{module.name} at {module.stage}: {address} (Ctrl-C ends it)")
    wait()
