"""`unmess import`: prints or writes a model's IR at a stage."""

from __future__ import annotations

import time
from pathlib import Path

import click

from unmess import describe
from unmess.cli import arguments
from unmess.cli.arguments import CaptureOptions
from unmess.cli.cached import working
from unmess.cli.session import Session, command
from unmess.core.errors.error import Error
from unmess.core.errors.stages import IR_STAGES
from unmess.core.files.writing import check_writable
from unmess.core.options.names import (
    check_linalg_form,
    check_portable,
    check_stage,
    check_upstream_only,
    check_weight_mode,
)
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
    help=f"Stage of the IR: {', '.join(IR_STAGES)}.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the IR to FILE, as bytecode if its name ends in .mlirbc. The files that are "
    "needed to run it are written beside it: FILE.safetensors, FILE.json, "
    "FILE.example.safetensors. Default: print the IR on stdout.",
)
@click.option(
    "--weights",
    default="external",
    show_default=True,
    metavar="MODE",
    help="external: arguments of the entry function; inline: complete literals; elide: "
    "literals without data; splat: literals that repeat the tensor's first element.",
)
@click.option(
    "--fold-constants",
    is_flag=True,
    help="Fold batch norms into convolutions and matrix products, and compute what depends on "
    "weights only.",
)
@click.option(
    "--set-size",
    "set_sizes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Fix the size of the dynamic dimension NAME; for linalg only. May be repeated.",
)
@click.option(
    "--nhwc",
    is_flag=True,
    help="Convert convolutions, poolings and the operations between them to NHWC; for linalg only.",
)
@click.option(
    "--generalize",
    is_flag=True,
    help="Replace named operations by linalg.generic; for linalg only.",
)
@click.option(
    "--specialize",
    is_flag=True,
    help="Replace each linalg.generic that is a named operation by that operation; for linalg "
    "only.",
)
@click.option(
    "--outline",
    multiple=True,
    metavar="MODULE",
    help="Move the operations of a module of the model, such as layer1, to private functions; for "
    "linalg only. May be repeated.",
)
@click.option(
    "--upstream-only",
    is_flag=True,
    help="Rewrite operations that upstream MLIR does not have, so that its tools can compile "
    "the IR.",
)
@click.option(
    "--portable",
    metavar="VERSION",
    help="Write a portable artifact for this version of StableHLO, such as 1.9.0. Later versions "
    "can read it, too.",
)
@arguments.quantized_capture
@arguments.print_after
@arguments.stop_after
@arguments.insert_pass
@arguments.backend_legal_op
@arguments.no_cache
@click.option(
    "--locations", is_flag=True, help="Print source locations. Files have them without this option."
)
@click.option("--strip-locations", is_flag=True, help="Omit source locations from the file.")
@click.option("--generic", is_flag=True, help="Print the generic form of every operation.")
@click.option("--bytecode", is_flag=True, help="Write bytecode, whatever the name of the file.")
@command
def import_(
    session: Session,
    model: str,
    to: str,
    output: str | None,
    weights: str,
    fold_constants: bool,
    set_sizes: tuple[str, ...],
    nhwc: bool,
    generalize: bool,
    specialize: bool,
    outline: tuple[str, ...],
    upstream_only: bool,
    portable: str | None,
    capture: CaptureOptions,
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
    sizes = arguments.split_sizes("--set-size", set_sizes)
    check_linalg_form(to, bool(sizes), nhwc, generalize, specialize, bool(outline))
    check_upstream_only(to, upstream_only)
    check_weight_mode(weights)
    check_portable(to, weights, portable)
    capture.check()
    insertions = arguments.split_insertions(insert_passes)
    file = None if output in (None, _STDOUT) else Path(output)
    is_bytecode = bytecode or (file is not None and file.suffix == ".mlirbc")
    _check_form(file, locations, strip_locations, generic, is_bytecode or portable is not None)
    if file is not None:
        check_writable(file)
    start = time.perf_counter()
    request = Request(
        model,
        backend_legal_ops=backend_legal_ops,
        **vars(capture),
        fold_constants=fold_constants,
    )
    # Eager's results are written beside an IR file. A cached program has external weights, because
    # other weights become part of the IR during the import. Its results of eager are for the sizes
    # of the capture.
    cacheable = weights == "external" and not sizes
    need = Need(results=file is not None)
    with working(
        session, request, need, no_cache=no_cache or not cacheable, print_after=print_after
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
            sizes=sizes,
            nhwc=nhwc,
            generalize=generalize,
            specialize=specialize,
            outline=outline,
            upstream_only=upstream_only,
            portable=portable,
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
    """Raises an Error (`usage`) if options contradict each other."""
    if locations and strip_locations:
        cause, hint = (
            "--locations and --strip-locations exclude each other",
            "pass only one of them",
        )
    elif bytecode and file is None:
        cause, hint = "cannot write bytecode to stdout", "pass a file with -o"
    elif bytecode and generic:
        cause, hint = "bytecode has no generic form", "pass --generic for text only"
    else:
        return
    raise Error("usage", cause, hint=hint)
