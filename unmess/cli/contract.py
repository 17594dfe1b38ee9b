"""`unmess contract`: lists every place where a model breaks the backend contract."""

from __future__ import annotations

from dataclasses import asdict

import click

from unmess.cli import arguments
from unmess.cli.arguments import CaptureOptions
from unmess.cli.session import Session, command
from unmess.core.errors.error import STAGE_FAILED
from unmess.core.ir.lazy_numpy import import_bindings
from unmess.core.options.names import IR_SUFFIXES, check_name

_AT = ("raw", "torch")


@click.command()
@arguments.model
@click.option(
    "--at",
    metavar="STAGE",
    help="Stage to check. raw: check the IR after the pipeline to torch; torch: check the "
    "file as it is. Default: raw for a model, torch for a file.",
)
@arguments.backend_legal_op
@arguments.capture
@command
def contract(
    session: Session,
    model: str,
    at: str | None,
    backend_legal_ops: tuple[str, ...],
    capture: CaptureOptions,
) -> int:
    """List all violations of the backend contract by MODEL, or by an MLIR file.

    All lowerings rely on the contract: tensors are values of known rank and dtype, composite
    operators are decomposed, and no operator is unknown. The exit status is 3 if it is violated.
    """
    if at is not None:
        check_name("stage of the contract", at, _AT)
    capture.check()
    is_file = model.endswith(IR_SUFFIXES)
    if is_file:
        arguments.check_no_example(model, capture)
    with session.working(model, pytorch=not is_file):
        if is_file:
            import_bindings()
        from pipelines import contract as backend
        from pipelines.legal_ops import legal_ops

        legal = legal_ops(backend_legal_ops)
        if is_file:
            from unmess.core.ir.parsing import parse_file

            module = parse_file(model)
        else:
            import unmess
            from unmess.captured import captured

            program = captured(model, backend_legal_ops=backend_legal_ops, **vars(capture))
            to = at or "raw"
            module = unmess.lower(program, to, backend_legal_ops=backend_legal_ops)
        found = backend.check(module, at if is_file else None, legal)
    if session.json:
        session.write_json(
            {
                "ok": not found,
                "model": model,
                "violations": [asdict(violation) for violation in found],
            }
        )
        return STAGE_FAILED if found else 0
    lines = [f"{violation.where or '?'}: {violation}" for violation in found]
    places = f"{len(found)} place{'' if len(found) == 1 else 's'}"
    verdict = (
        f"violates the backend contract in {places}" if found else "satisfies the backend contract"
    )
    session.write("\n".join([*lines, f"{model} {verdict}"]))
    return STAGE_FAILED if found else 0
