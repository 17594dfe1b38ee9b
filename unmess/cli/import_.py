"""`unmess import`: prints or writes a model's IR at a stage."""

from __future__ import annotations

import time
from pathlib import Path

import click

from unmess.cli import arguments, describe
from unmess.cli.cached import working
from unmess.cli.session import Session, command
from unmess.core.error import Error
from unmess.core.module import WEIGHTS
from unmess.core.names import STAGES, check_name, check_stage, check_upstream_only
from unmess.core.writing import check_writable
from unmess.program_cache.capturing import Need
from unmess.program_cache.request import Request

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
    help="Write the IR there, bytecode where it ends in .mlirbc, and beside it what it needs to "
    "run again: FILE.safetensors, FILE.json, FILE.example.safetensors. Default: the IR on stdout.",
)
@click.option(
    "--weights",
    default="external",
    show_default=True,
    metavar="MODE",
    help="external: arguments of the entry function; inline: literals in full; "
    "elide: literals without their data; splat: literals of one value, the tensor's first.",
)
@click.option(
    "--upstream-only",
    is_flag=True,
    help="Rewrite what only torch-mlir knows: upstream MLIR takes the result all the way.",
)
@arguments.inputs
@arguments.dynamic
@arguments.strategy
@arguments.trust
@arguments.print_after
@arguments.stop_after
@arguments.insert_pass
@arguments.backend_legal_op
@arguments.no_cache
@click.option("--locations", is_flag=True, help="Print source locations, which files have anyway.")
@click.option("--strip-locations", is_flag=True, help="Leave source locations out of the file.")
@click.option("--generic", is_flag=True, help="The generic form, which any version of MLIR reads.")
@click.option("--bytecode", is_flag=True, help="Bytecode, whatever the name of the file.")
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
    trust: bool,
    print_after: tuple[str, ...],
    stop_after: str | None,
    insert_passes: tuple[str, ...],
    backend_legal_ops: tuple[str, ...],
    no_cache: bool,
    locations: bool,
    strip_locations: bool,
    generic: bool,
    bytecode: bool,
) -> None:
    """Print the IR of MODEL at a stage, or write it to a file."""
    check_stage(to)
    check_upstream_only(to, upstream_only)
    check_name("weights", weights, WEIGHTS)
    arguments.check_dynamic(dynamic)
    arguments.check_strategy(strategy)
    insertions = arguments.split_insertions(insert_passes)
    file = None if output in (None, _STDOUT) else Path(output)
    is_bytecode = bytecode or (file is not None and file.suffix == ".mlirbc")
    _check_form(file, locations, strip_locations, generic, is_bytecode)
    if file is not None:
        check_writable(file)
    start = time.perf_counter()
    request = Request(model, inputs, dynamic, strategy, backend_legal_ops, trust=trust)
    # Eager's results are written beside an IR file. The cache holds programs with external weights
    # only: other weights become part of the IR during the import.
    external = weights == "external"
    need = Need(results=file is not None)
    with working(
        session, request, need, no_cache=no_cache or not external, print_after=print_after
    ) as cached:
        import unmess
        from pipelines.lower import Changes, plan

        # Report misspelled steps before the model is captured.
        plan("raw", to, Changes(insertions, stop_after, backend_legal_ops))
        program = cached.program()
        module = unmess.lower(
            program,
            to=to,
            weights=weights,
            insert_passes=insertions,
            stop_after=stop_after,
            backend_legal_ops=backend_legal_ops,
            upstream_only=upstream_only,
        )
        # Report write errors like lowering errors.
        files, text = [], None
        if file is None:
            text = module.text(locations=locations, generic=generic)
        else:
            files = module.save(
                file, locations=not strip_locations, generic=generic, bytecode=is_bytecode
            )
    if session.json:
        seconds = module.seconds | {"total": time.perf_counter() - start}
        session.write_json(
            {
                "ok": True,
                "model": model,
                "stage": module.stage,
                "strategy": program.strategy,
                "output": None if file is None else str(file),
                "files": [str(path) for path in files],
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
    session.say_notes(module.notes)


def _check_form(
    file: Path | None, locations: bool, strip_locations: bool, generic: bool, bytecode: bool
) -> None:
    """Raises an Error (`usage`) for options that do not go together."""
    if locations and strip_locations:
        cause, hint = "--locations and --strip-locations exclude each other", "give one of them"
    elif bytecode and file is None:
        cause, hint = "bytecode is not for stdout", "give a file with -o"
    elif bytecode and generic:
        cause, hint = "bytecode has no generic form", "give --generic for text"
    else:
        return
    raise Error("usage", cause, hint=hint)
