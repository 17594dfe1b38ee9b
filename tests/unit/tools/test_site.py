"""The documentation as a site: Sphinx builds it without a warning, and dead links are errors."""

import html
import importlib.util
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

import unmess
from unmess.cli import cli

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / "docs" / "site" / "python.rst"

PAGE = """# A page

## A part

[file](../pyproject.toml) [folder](site) [page](README.md) [heading](README.md#how-to-guides)
[own heading](#a-part)

```mlir
%0 = torch.aten.relu %x : tensor<?x64xf32>
```
"""
DEAD = "[dead](missing.md) [dead](#nothing) [dead](README.md#nowhere)\n"


@pytest.fixture
def build(skip_without, tmp_path):
    """Builds a site from a folder without the reference of the Python interface."""
    if importlib.util.find_spec("sphinx") is None:
        skip_without("docs", "the environment docs is not installed: run `./pixiw run docs`")

    def build(root: Path, builder: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "sphinx", "-b", builder, "-t", "without_python"]
        command += ["--fail-on-warning", "--quiet", "--no-color", "--conf-dir", "docs/site"]
        command += ["--doctree-dir", str(tmp_path / "doctrees"), ".", str(tmp_path / "out")]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True)
        return done.returncode, done.stderr

    return build


@pytest.fixture
def small(tmp_path):
    """A repository with three pages, and with the site's configuration."""
    root = tmp_path / "root"
    shutil.copytree(ROOT / "docs" / "site", root / "docs" / "site")
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "README.md").write_text("# Title\n\n[page](docs/page.md#a-part) [docs](docs)\n")
    (root / "docs" / "README.md").write_text(
        "# Documentation\n\n## Tutorial\n\n| [README](../README.md) |\n\n"
        "## How-to guides\n\n| [page](page.md) | [again](page.md#a-part)\n\n## Reference\n"
    )
    (root / "docs" / "page.md").write_text(PAGE)
    return root


class Navigation(HTMLParser):
    """Collects the targets of the links in the navigation of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "a" and "reference internal" in attributes.get("class", ""):
            self.targets.append(attributes["href"])


def test_the_pages_build_without_a_warning(build):
    assert build(ROOT, "dummy") == (0, "")


def test_a_small_site(build, small, tmp_path):
    assert build(small, "html") == (0, "")
    out = tmp_path / "out"
    assert (out / "index.html").read_text() == (out / "README.html").read_text()
    # In the order of docs/README.md, with the generated pages first in their section.
    order = ["docs/README.html", "#", "docs/page.html", "docs/site/command-line.html"]
    assert Navigation(out / "index.html").targets[: len(order)] == order
    page = (out / "docs" / "page.html").read_text()
    assert f'href="{(small / "pyproject.toml").as_uri()}"' in page
    assert f'href="{(small / "docs" / "site").as_uri()}"' in page
    assert '<span class="mi">?x64x</span><span class="kt">f32</span>' in page
    page = (out / "docs" / "site" / "command-line.html").read_text()
    help_texts = html.unescape(re.sub(r"<[^>]+>", "", page))
    for command in (*([name] for name in cli.commands), ["matrix", "diff"], []):
        arguments = [*command, "--help"]
        done = CliRunner().invoke(cli, arguments, prog_name="unmess", terminal_width=100)
        assert done.exit_code == 0 and done.output in help_texts


def test_links_to_files_lead_to_github_in_a_workflow(build, small, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_REPOSITORY", "some/fork")
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://example.invalid")
    monkeypatch.setenv("GITHUB_SHA", "abc")
    assert build(small, "html") == (0, "")
    page = (tmp_path / "out" / "docs" / "page.html").read_text()
    assert 'href="https://example.invalid/some/fork/blob/abc/pyproject.toml"' in page
    assert 'href="https://example.invalid/some/fork/tree/abc/docs/site"' in page


def test_dead_links_are_errors(build, small):
    (small / "docs" / "page.md").write_text(PAGE + DEAD)
    status, errors = build(small, "dummy")
    assert status != 0
    assert re.findall(r"page\.md:\d+: WARNING: .*'([^']+)' \[myst\.\w+\]", errors) == [
        "missing.md",
        "nothing",
        "nowhere",
    ]


def test_a_page_that_the_index_does_not_list_is_an_error(build, small):
    (small / "docs" / "lost.md").write_text("# Lost\n")
    status, errors = build(small, "dummy")
    assert status != 0 and "lost.md: WARNING: document isn't included in any toctree" in errors


def test_the_reference_has_every_public_name():
    text = PYTHON.read_text()
    names = re.findall(r"^\.\. auto(?:function|class):: (\w+)$", text, re.M)
    names += re.findall(r"^\.\. (?:automodule|py:module):: unmess\.(\w+)$", text, re.M)
    assert sorted(names) == unmess.__all__
