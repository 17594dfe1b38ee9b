"""Formats the facts about a model as one Markdown page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from importers.sources.model_string import PREFIXES, PYTHON_FILE
from unmess.analysis.numbers import count, size
from unmess.core.options.names import IR_SUFFIXES
from unmess.environment.versions import versions
from unmess.format import difference, duration
from unmess.matrix.summary import EQUAL
from unmess.pages.markdown import render_markdown
from unmess.recipe_page.commands import command, working_commands
from unmess.recipe_page.facts import Facts
from unmess.recipe_page.failures import changes, failures, other_notes
from unmess.row import Row

_TEMPLATE = Path(__file__).with_name("page.md.jinja")
# The libraries that the results depend on.
_VERSIONS = ("torch", "torch-mlir", "iree-base-compiler")
_LIBRARY = {"torchvision": "torchvision", "hf": "transformers"}


def page(facts: Facts) -> str:
    """Returns the page as Markdown."""
    return render_markdown(
        _TEMPLATE,
        {
            "count": count,
            "size": size,
            "duration": duration,
            "shape": _shape,
            "result": _result,
            "sizes": _sizes,
        },
        facts=facts,
        program=facts.program,
        kind=source_kind(facts.model),
        recipe=command("recipe", facts.model, facts.options, *facts.arguments),
        capture=_capture(facts),
        commands=working_commands(facts),
        changes=changes(facts),
        notes=other_notes(facts),
        failures=failures(facts),
        versions=_versions(facts),
    )


def source_kind(model: str) -> str:
    """Returns where the weights of a model string come from.

    Returns:
        `torchvision`; `type`, `gguf` or `folder` of transformers; `python`; `ir`; or `program` for
        a saved program.
    """
    prefix, colon, rest = model.partition(":")
    if colon and prefix in PREFIXES:
        if prefix == "torchvision":
            return prefix
        if rest.endswith(".gguf"):
            return "gguf"
        is_path = "/" in rest or Path(rest).expanduser().exists()
        return "folder" if is_path else "type"
    if PYTHON_FILE.fullmatch(model):
        return "python"
    return "ir" if model.endswith(IR_SUFFIXES) else "program"


def _capture(facts: Facts) -> str | None:
    """Returns the arguments of `unmess.capture`; None for inputs as only a command takes them."""
    options = facts.options
    if options.inputs:
        return None
    parts = [json.dumps(facts.model)]
    if options.dynamic:
        parts.append(f"dynamic_shapes={json.dumps(options.dynamic)}")
    if options.strategy != "auto":
        parts.append(f"strategy={json.dumps(options.strategy)}")
    if options.only is not None:
        parts.append(f"only={json.dumps(options.only)}")
    if options.trust:
        parts.append("trust=True")
    return ", ".join(parts)


def _versions(facts: Facts) -> str:
    found = next((row.versions for row in facts.rows if row.versions), None) or versions()
    prefix = facts.model.partition(":")[0]
    names = [*_VERSIONS, *([_LIBRARY[prefix]] if prefix in _LIBRARY else [])]
    return ", ".join(f"{name} {found[name]}" for name in names if name in found)


def _shape(shape: Sequence[int | str] | None) -> str:
    """Returns a shape as text: `2×3`, or `2·n×3` with a dynamic size."""
    if not shape:
        return ""
    return "×".join(str(each).replace("*", "·") for each in shape)


def _result(row: Row) -> str:
    """Returns `matches`, with the largest relative difference, or the stage where it stops."""
    if not row.ok:
        return f"stops in {row.stage}" if row.stage != "compare" else "differs"
    return f"matches: {difference(row.max_rel_error) if row.max_rel_error else EQUAL}"


def _sizes(check: dict[str, Any]) -> str:
    """Returns one comparison at further sizes: `batch=3: matches`."""
    values = ", ".join(f"{name}={value}" for name, value in check["sizes"].items())
    states = {True: "matches", False: f"differs: {check['error']}", None: "refused by eager"}
    return f"{values}: {states[check['ok']]}"
