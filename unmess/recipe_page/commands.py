"""The command lines on a recipe page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import replace

from unmess.core.errors.stages import OUTPUT_DIALECTS
from unmess.isolated import Options
from unmess.recipe_page.facts import Facts
from unmess.row import Row


def command(verb: str, model: str, options: Options, *arguments: str) -> str:
    """Returns `unmess VERB MODEL`, with the options of the capture and further arguments."""
    parts = ["unmess", verb, model]
    for name, values in (("--input", options.inputs), ("--dynamic", options.dynamic)):
        for value in values:
            parts += [name, value]
    if options.strategy != "auto":
        parts += ["--strategy", options.strategy]
    if options.only is not None:
        parts += ["--only", options.only]
    if options.trust:
        parts.append("--trust")
    return shlex.join([*parts, *arguments])


def _file_name(facts: Facts) -> str:
    """Returns the name of the program as part of a file name: `net.model`."""
    name = facts.model if facts.program is None else facts.program.name
    return re.sub(r"[^\w.-]+", "-", name).strip("-")


def working_commands(facts: Facts) -> list[tuple[str, str]]:
    """Returns pairs: a description, and a command that works for the model."""
    model, options = facts.model, facts.options
    name = _file_name(facts)
    reached = {stage.stage for stage in facts.stages if stage.error is None}
    found = []

    def add(text: str, verb: str, *arguments: str, options: Options = options) -> None:
        found.append((text, command(verb, model, options, *arguments)))

    for stage in OUTPUT_DIALECTS:
        if stage in reached:
            file = f"{name}-{stage}.mlir"
            add(f"write the IR in {stage}, with its weights", "import", "--to", stage, "-o", file)
    good = [row for row in facts.rows if row.ok]
    default = [row.runner for row in good if row.via in (None, "linalg")]
    if default:
        add("run it on its example inputs", "run", "--on", default[0])
    for via, runners in _by_dialect(good).items():
        through = () if via is None else ("--via", via)
        add("compare with eager PyTorch", "check", "--on", ",".join(runners), *through)
    tried = [row.runner for row in facts.tried if row.ok]
    if tried:
        dynamic = replace(options, dynamic=(facts.dynamic,))
        text = "the same with a dynamic dimension, at several sizes"
        add(text, "check", "--on", ",".join(tried), options=dynamic)
    if "linalg" in reached:
        add("count operations, FLOPs and bytes by layer", "analyze")
    if "iree-cpu" in default:
        text = "write a folder that runs without PyTorch"
        add(text, "package", "--on", "iree-cpu", "-o", f"{name}-bundle")
    return found


def failure_commands(facts: Facts, row: Row) -> tuple[str, str]:
    """Returns the commands that repeat a failed check, and that reduce it."""
    through = () if row.via is None else ("--via", row.via)
    arguments = ("--on", row.runner, *through)
    numerics = ("--numerics",) if row.stage == "compare" else ()
    return (
        command("check", facts.model, facts.options, *arguments),
        command("triage", facts.model, facts.options, *arguments, *numerics),
    )


def _by_dialect(rows: Iterable[Row]) -> dict[str | None, list[str]]:
    found: dict[str | None, list[str]] = {}
    for row in rows:
        found.setdefault(row.via, []).append(row.runner)
    return found
