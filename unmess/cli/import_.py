"""`unmess import`: a model's IR at a stage."""

from __future__ import annotations

import time
from pathlib import Path

import click

from unmess.cli import arguments, describe
from unmess.cli.session import Session, command
from unmess.cli.writable import check_writable
from unmess.core.module import WEIGHTS
from unmess.core.names import STAGES, check_name, check_stage, check_upstream_only

_STDOUT = "-"


@click.command("import")
@arguments.model
@click.option(
    "--to",
    default="linalg",
    show_default=True,
    metavar="STAGE",
    help=f"One of {', '.join(STAGES)}.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the IR there: bytecode where it ends in .mlirbc, else text. Default: stdout (-).",
)
@click.option(
    "--weights",
    default="external",
    show_default=True,
    metavar="MODE",
    help="external: arguments of the entry function; inline: literals in full; "
    "elide: literals without their data.",
)
@click.option(
    "--upstream-only",
    is_flag=True,
    help="Rewrite what only torch-mlir knows: upstream MLIR takes the result all the way.",
)
@arguments.inputs
@arguments.dynamic
@arguments.strategy
@arguments.print_after
@arguments.stop_after
@arguments.insert_pass
@arguments.backend_legal_op
@click.option("--locations", is_flag=True, help="Print source locations.")
@command
def import_(
    session: Session,
    model: str,
    to: str,
    output: str | None,
    weights: str,
    upstream_only: bool,
    inputs: tuple[str, ...],
    dynamic: tuple[str, ...],
    strategy: str,
    print_after: tuple[str, ...],
    stop_after: str | None,
    insert_passes: tuple[str, ...],
    backend_legal_ops: tuple[str, ...],
    locations: bool,
) -> None:
    """Print the IR of MODEL at a stage, or write it to a file."""
    check_stage(to)
    check_upstream_only(to, upstream_only)
    check_name("weights", weights, WEIGHTS)
    arguments.check_dynamic(dynamic)
    arguments.check_strategy(strategy)
    insertions = arguments.split_insertions(insert_passes)
    file = None if output in (None, _STDOUT) else Path(output)
    if file is not None:
        check_writable(file)
    start = time.perf_counter()
    with session.working(model, print_after):
        import unmess
        from importers.sources.example_inputs import parse_inputs
        from pipelines.lower import Changes, plan

        # What is misspelled is told before the model is captured.
        plan("raw", to, Changes(insertions, stop_after, backend_legal_ops))
        args, kwargs = parse_inputs(inputs)
        program = unmess.capture(
            model,
            args,
            kwargs,
            dynamic_shapes=dynamic or None,
            strategy=strategy,
            backend_legal_ops=backend_legal_ops,
        )
        module = unmess.lower(
            program,
            to=to,
            weights=weights,
            insert_passes=insertions,
            stop_after=stop_after,
            backend_legal_ops=backend_legal_ops,
            upstream_only=upstream_only,
        )
    if file is not None:
        module.save(file, locations=locations)
    text = module.text(locations=locations) if file is None else None
    if session.json:
        seconds = module.seconds | {"total": time.perf_counter() - start}
        session.write_json(
            {
                "ok": True,
                "model": model,
                "stage": module.stage,
                "strategy": program.strategy,
                "output": None if file is None else str(file),
                "ir": text,
                "weight_mode": module.weight_mode,
                "weights": describe.weights(program, module),
                "tied": program.tied,
                "signature": describe.signature(module),
                "entries": describe.entries(module),
                "notes": [str(note) for note in module.notes],
                "seconds": seconds,
            }
        )
        return
    if text is not None:
        session.write(text)
    if session.verbose:
        for note in module.notes:
            click.echo(f"note: {note}", err=True)
