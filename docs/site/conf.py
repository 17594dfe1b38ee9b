"""Sphinx's configuration of the documentation as a site, which `./pixiw run docs` builds.

The pages stay plain Markdown, as GitHub shows them. What a site needs besides is added while Sphinx
reads them:

- The navigation is that of docs/README.md: a caption per section, an entry per link.
- The page of the command line is what `unmess COMMAND --help` prints.
- Links to files that are not pages lead to GitHub, or to the checkout if it is built elsewhere.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
import tomllib
from pathlib import Path, PurePosixPath
from typing import ClassVar

import click
from docutils import nodes
from pygments import token
from pygments.lexer import RegexLexer
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import unmess
from unmess.cli import cli

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

project = PROJECT["name"]
release = PROJECT["version"]
author = project
# The sources are the repository, so that links between pages are the same here and on GitHub.
root_doc = "README"
include_patterns = ["README.md", "docs/**", "benchmarks/README.md"]
# Otherwise Sphinx searches all other folders too, such as .venv.
exclude_patterns = [
    path.name for path in ROOT.iterdir() if path.name not in ("README.md", "docs", "benchmarks")
]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

myst_heading_anchors = 6
# The anchors that GitHub gives to headings.
myst_heading_slug_func = "myst_parser.slugs.github_slugify"

# Code blocks without a language show output.
highlight_language = "text"
# Docstrings have `code` in single backticks.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": False}
python_maximum_signature_line_length = 80

html_theme = "furo"
html_title = f"unmess {release}"
html_copy_source = False
html_show_copyright = False

# The pages that only the site has, by the section of docs/README.md in which they are listed first.
GENERATED = {"Reference": ["/docs/site/command-line", "/docs/site/python"]}
# Importing everything that is documented takes longer than the rest, so most tests omit it.
if tags.has("without_python"):  # noqa: F821, as Sphinx defines it
    exclude_patterns.append("docs/site/python.rst")
    GENERATED["Reference"].remove("/docs/site/python")
INDEX = "docs/README"
# The first line of a section of a docstring.
SECTION = re.compile(r"(Args|Attributes|Returns|Yields|Raises):")


def navigation(index: str) -> str:
    """Returns the toctrees for the sections of docs/README.md, each in the order of its links."""
    trees = []
    for section in re.split(r"(?m)^## ", index)[1:]:
        title, _, text = section.partition("\n")
        pages = list(GENERATED.get(title, ()))
        for link in re.findall(r"\]\(([^):#]+)\.md\)", text):
            page = os.path.normpath(PurePosixPath("/docs", link))
            # The page with the toctrees cannot be in them, except by this name.
            pages.append("First steps <self>" if page == f"/{root_doc}" else page)
        if pages:
            trees.append(toctree(title, pages))
    return toctree("", [f"All pages </{INDEX}>"]) + "".join(trees)


def toctree(caption: str, pages: list[str]) -> str:
    """Returns a toctree in MyST's notation."""
    lines = ["", "```{toctree}", ":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join([*lines, "", *pages, "```", ""])


def commands(context: click.Context, command: click.Command) -> str:
    """Returns a section with the help of a command, and one for each of its subcommands."""
    # As wide as the commands' own limit, whatever the terminal is.
    context.terminal_width = context.max_content_width
    title = context.command_path
    help_text = textwrap.indent(command.get_help(context), "   ")
    parts = [f"{title}\n{'~' * len(title)}\n\n.. code-block:: text\n\n{help_text}\n"]
    for name, subcommand in sorted(getattr(command, "commands", {}).items()):
        if not subcommand.hidden:
            inner = click.Context(
                subcommand, context, info_name=name, **subcommand.context_settings
            )
            parts.append(commands(inner, subcommand))
    return "\n".join(parts)


def complete(app: Sphinx, page: str, source: list[str]) -> None:
    """Adds to the text of a page what is generated."""
    if page == root_doc:
        source[0] += navigation((ROOT / f"{INDEX}.md").read_text())
    elif page == "docs/site/command-line":
        context = click.Context(cli, info_name="unmess", **cli.context_settings)
        source[0] += commands(context, cli)
    elif page == "docs/site/python":
        # An attribute of the package, which autodoc imports as a module.
        sys.modules["unmess.contract"] = unmess.contract


def mark_examples(
    app: Sphinx, kind: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Marks indented paragraphs of a docstring as Python code, as Markdown reads them.

    The sections, which are indented too, come after the text.
    """
    for number in range(len(lines) - 1, 0, -1):
        before, line = lines[number - 1 : number + 1]
        starts = line.startswith("    ") and not before.strip()
        if starts and not any(SECTION.fullmatch(each) for each in lines[:number]):
            lines[number:number] = [".. code-block:: python", ""]


class MlirLexer(RegexLexer):
    """Splits MLIR for highlighting. Pygments has no lexer for it."""

    name = "MLIR"
    aliases: ClassVar = ["mlir"]
    tokens: ClassVar = {
        "root": [
            (r"\s+", token.Whitespace),
            (r"//.*", token.Comment.Single),
            (r'"(\\.|[^"\\])*"', token.String),
            (r"%[\w$.-]+(:\d+|#\d+)?", token.Name.Variable),
            (r"@([\w$.-]+|\"[^\"]*\")", token.Name.Function),
            (r"\^[\w$.-]+", token.Name.Label),
            (r"[#!][\w$.]+", token.Name.Constant),
            (
                r"\b(tensor|memref|vector|tuple|complex|index|none|[su]?i\d+|b?f\d+\w*|tf32)\b|"
                r"(?<=x)([su]?i\d+|b?f\d+\w*|index)\b",
                token.Keyword.Type,
            ),
            (r"(?<=[x<])(\?|\d+)x(?=[\d?a-z])", token.Number.Integer),
            (r"-?\b(0x[0-9a-fA-F]+|\d+(\.\d*([eE][+-]?\d+)?)?)\b", token.Number),
            (r"\b[a-z_]\w*\.[\w.$]+", token.Name.Builtin),
            (
                r"\b(module|func|return|true|false|unit|dense|dense_resource|loc|affine_map|"
                r"private|public|attributes)\b",
                token.Keyword,
            ),
            (r"[A-Za-z_]\w*", token.Name),
            (r".", token.Punctuation),
        ]
    }


class SourceLinks(SphinxTransform):
    """Replaces links to files and folders that are not pages by links to GitHub or the checkout."""

    # Before Sphinx collects the files to download.
    default_priority = 500

    def apply(self) -> None:  # noqa: D102
        kinds = (addnodes.download_reference, addnodes.pending_xref)
        for node in list(self.document.findall(lambda node: isinstance(node, kinds))):
            if node.get("reftype") != "myst" or node.get("refdomain") == "doc":
                continue
            path = Path(self.env.relfn2path(node["reftarget"], self.env.docname)[1]).resolve()
            if path.exists():
                uri = source_uri(path)
                node.replace_self(nodes.reference("", "", *node.children, refuri=uri))


def source_uri(path: Path) -> str:
    """Returns the address of a file or folder: on GitHub in a workflow, else in the checkout."""
    repository = os.environ.get("GITHUB_REPOSITORY")
    if not repository:
        return path.as_uri()
    server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
    kind = "tree" if path.is_dir() else "blob"
    name = path.relative_to(ROOT).as_posix()
    return f"{server}/{repository}/{kind}/{os.environ.get('GITHUB_SHA', 'main')}/{name}"


def write_index(app: Sphinx, failure: Exception | None) -> None:
    """Writes index.html, the page that web servers show for the site's folder."""
    if failure is None and app.builder.format == "html":
        page = (app.outdir / f"{root_doc}.html").read_text()
        (app.outdir / "index.html").write_text(page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connects the above to Sphinx."""
    app.add_transform(SourceLinks)
    app.add_lexer("mlir", MlirLexer)
    app.connect("source-read", complete)
    # Before napoleon, which turns the sections into fields.
    app.connect("autodoc-process-docstring", mark_examples, priority=400)
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
