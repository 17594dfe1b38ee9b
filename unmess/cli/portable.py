"""`unmess portable`: checks whether the released upstream MLIR accepts a module."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.portability.inspector import Inspector
from unmess.cli import arguments
from unmess.cli.arguments import CaptureOptions
from unmess.cli.session import Session, command
from unmess.core.errors.error import STAGE_FAILED
from unmess.core.ir.lazy_numpy import import_bindings
from unmess.core.options.names import IR_SUFFIXES, check_stage, check_upstream_only

if TYPE_CHECKING:
    from pipelines.portability.portability import Portability, Unknown


@click.command()
@arguments.model
@click.option(
    "--to",
    default="linalg",
    show_default=True,
    metavar="STAGE",
    help="Stage to lower a MODEL to: linalg, tosa, …",
)
@click.option(
    "--upstream-only", is_flag=True, help="Lower a MODEL with `unmess import --upstream-only`."
)
@arguments.strategy
@arguments.only
@arguments.trust
@command
def portable(
    session: Session,
    model: str,
    to: str,
    upstream_only: bool,
    strategy: str,
    only: str | None,
    trust: bool,
) -> int:
    """Check whether upstream MLIR accepts MODEL's IR, or an MLIR file.

    Upstream MLIR is the release in the environment; it reads the module in a separate process. Each
    unknown operation, type and attribute is listed with its number of occurrences, its first source
    line, and whether `unmess import --to linalg --upstream-only` removes all of them. The exit
    status is 3 if upstream MLIR rejects the module.
    """
    check_stage(to)
    check_upstream_only(to, upstream_only)
    arguments.check_strategy(strategy)
    is_file = model.endswith(IR_SUFFIXES)
    if is_file:
        arguments.check_no_example(model, CaptureOptions(only=only))
    with session.working(model, pytorch=not is_file), contextlib.ExitStack() as stack:
        # Start it first: it imports upstream MLIR while this process imports torch-mlir.
        inspector = stack.enter_context(Inspector()) if is_file else None
        if is_file:
            import_bindings()
        from pipelines.portability.portability import examine
        from unmess.core.ir.parsing import parse_file

        if is_file:
            ir = parse_file(model)
            found = examine(ir, Path(model).read_bytes(), Path(model).stem, inspector)
        else:
            import unmess

            program = unmess.capture(model, strategy=strategy, trust=trust, only=only)
            module = unmess.lower(program, to=to, upstream_only=upstream_only)
            found = examine(module.ir, name=module.name)
            if found.removable:
                command_line = f"unmess import {model} --upstream-only"
                found = replace(found, remedy=f"the result of `{command_line}`")
    if session.json:
        session.write_json({"ok": found.ok, "model": model, **asdict(found)})
    else:
        session.write("\n".join(_lines(model, found)))
    return 0 if found.ok else STAGE_FAILED


def _lines(model: str, found: Portability) -> list[str]:
    lines = [line for each in found.unknown for line in _unknown(each)]
    if found.ok:
        return [*lines, f"{model}: {found.version} parses and verifies it"]
    lines.append(f"{model}: {found.version} rejects it")
    if found.problem:
        lines.append(f"  cause: {found.problem}")
    if found.removable:
        lines.append(f"  hint: {found.version} accepts {found.remedy}")
    elif found.remedy:
        lines.append(f"  hint: --to linalg --upstream-only is rejected too: {found.remedy}")
    return lines


def _unknown(each: Unknown) -> list[str]:
    times = f"{each.count} time{'s' if each.count > 1 else ''}"
    if each.kind != "operation":
        times = f"on {each.count} operation{'s' if each.count > 1 else ''}"
    kept = ", accepted and kept" if each.harmless else ""
    details = [("at", each.where), ("upstream", each.problem)]
    if not each.harmless:
        details.append(("removable", "yes" if each.removable else "no"))
    return [
        f"{each.kind} {each.name}, {times}{kept}",
        *(f"  {label}: {value}" for label, value in details if value),
    ]
