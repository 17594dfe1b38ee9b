"""Renders Markdown pages from templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jinja2

_ESCAPES = {"|": "\\|", "<": "&lt;", "*": "\\*"}
_BACKTICKS = re.compile("`+")


def escaped(text: str) -> str:
    """Escapes text for a line of Markdown, also in a table."""
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def unescaped(text: str) -> str:
    """Returns the text that was escaped: the inverse of `escaped`."""
    for character, escape in _ESCAPES.items():
        text = text.replace(escape, character)
    return text


def code(text: str, in_table: bool = False) -> str:
    """Returns a code span, also for text with backticks."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if text[:1] == "`" or text[-1:] == "`" else ""
    span = f"{ticks}{space}{text}{space}{ticks}"
    # Tables split code spans at bars, too.
    return span.replace("|", "\\|") if in_table else span


def render_markdown(template: Path, filters: Mapping[str, Callable], **values: Any) -> str:
    """Returns a page as Markdown.

    The template escapes text itself, with the filters `escaped` and `code`.

    Args:
        template: a file `NAME.md.jinja`.
        filters: the template's own filters.
        values: the template's variables.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template.parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"escaped": escaped, "code": code, **filters}
    return environment.get_template(template.name).render(**values)
