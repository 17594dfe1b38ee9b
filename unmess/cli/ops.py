"""`unmess ops`: lists all operators of a model that do not lower."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from unmess.cli import arguments
from unmess.cli.arguments import CaptureOptions
from unmess.cli.session import Session, command
from unmess.core.errors.error import STAGE_FAILED
from unmess.core.options.names import check_stage

if TYPE_CHECKING:
    from unmess.probe.operators import Finding


@click.command()
@arguments.model
@click.option(
    "--to", default="linalg", show_default=True, metavar="STAGE", help="torch, linalg, tosa, …"
)
@arguments.capture
@command
def ops(
    session: Session,
    model: str,
    to: str,
    capture: CaptureOptions,
) -> int:
    """List all operators of MODEL that do not lower.

    Each distinct call (operator, shapes, dtypes, constants) is lowered as a separate program.
    With -v, operators that lower are listed too. The exit status is 3 if one does not lower.
    """
    check_stage(to)
    capture.check()
    # Imported here, because `--help` does not need them.
    from importers.sources.model_string import is_model_string
    from unmess.core.processes.workers import Parent
    from unmess.isolated import libraries_of

    # Start it before the progress thread: a process with threads must not be forked.
    parent = Parent(libraries_of([model], ()))
    if is_model_string(model):
        parent.begin()
    with parent, session.working(model, pytorch=False):
        from unmess.probe.operators import examine

        findings, notes = examine(
            parent,
            {"model": model, **vars(capture)},
            to,
            verbose=session.verbose or session.debug,
            on_stage=lambda stage: session.progress.begin(f"{model}: {stage}"),
            on_call=lambda operator, number, total: session.progress.begin(
                f"{model}: {operator} [{number}/{total}]"
            ),
        )
    bad = [finding for finding in findings if not finding.ok]
    if session.json:
        session.write_json(
            {
                "ok": not bad,
                "model": model,
                "to": to,
                "operators": [asdict(finding) for finding in findings],
                "notes": notes,
            }
        )
        return STAGE_FAILED if bad else 0
    lines = [_text(finding) for finding in findings if session.verbose or not finding.ok]
    calls = sum(finding.count for finding in findings)
    names = {finding.operator for finding in findings}
    lines.append(
        f"{model}: {len(bad)} of {len(findings)} distinct calls do not lower to {to} "
        f"({calls} calls of {len(names)} operators)"
    )
    session.write("\n".join(lines))
    return STAGE_FAILED if bad else 0


def _text(finding: Finding) -> str:
    head = (
        f"{finding.operator} ({', '.join(finding.operands)}) -> {', '.join(finding.results)}, "
        f"{finding.count} times"
    )
    if finding.ok:
        return head
    details = [("stops", f"{finding.stage}: {finding.cause}")]
    details += [("at", line) for line in finding.where]
    details += [
        (label, value)
        for label, value in (("decomposition", finding.decomposition), ("repro", finding.repro))
        if value
    ]
    return "\n".join([head, *(f"  {label}: {value}" for label, value in details)])
