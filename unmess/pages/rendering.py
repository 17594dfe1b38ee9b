"""Renders a page from the template, the styles and the script in a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jinja2

_SHARED = Path(__file__).parent


def render(folder: Path, filters: Mapping[str, Callable], **values: Any) -> str:
    """Returns a page as HTML. All text in `values` is escaped.

    Args:
        folder: has `page.html.jinja`, `page.css` and `page.js`.
        filters: the template's own filters.
        values: the template's variables.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, _SHARED]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment.get_template("page.html.jinja").render(
        style=_text(_SHARED / "base.css") + _text(folder / "page.css"),
        script=_text(_SHARED / "tables.js") + _text(folder / "page.js"),
        **values,
    )


def _text(file: Path) -> str:
    return file.read_text("utf-8")
