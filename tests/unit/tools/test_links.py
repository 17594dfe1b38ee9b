"""Links between the pages of the documentation lead to existing files and headings."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").rglob("*.md")]
)
CODE = re.compile(r"^ *(`{3,}).*?^ *\1 *$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def links(text: str) -> list[str]:
    """Returns the targets of the links in a page, without those to other sites."""
    targets = LINK.findall(CODE.sub("", text))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(text: str) -> set[str]:
    """Returns the anchors of the headings of a page, as GitHub derives them."""
    fences = re.sub(r"^(`{3,}).*?^\1 *$", "", text, flags=re.DOTALL | re.MULTILINE)
    found: list[str] = []
    for heading in HEADING.findall(fences):
        words = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.append(f"{anchor}-{found.count(anchor)}" if anchor in found else anchor)
    return set(found)


def broken_links(page: Path) -> list[str]:
    """Returns the links of a page whose file or heading does not exist."""
    broken = []
    for target in links(page.read_text()):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page(page):
    assert broken_links(page) == []


def test_every_page_is_linked_from_the_index():
    index = ROOT / "docs" / "README.md"
    linked = {
        (index.parent / link.partition("#")[0]).resolve() for link in links(index.read_text())
    }
    assert {*PAGES} - {index} - linked == set()


def test_files_of_the_reference_runners_steps_exist():
    text = (ROOT / "docs" / "reference-runner.md").read_text()
    rows = re.findall(r"^\| [\w ,]+ \| (`.*?`) \| ", text, re.MULTILINE)
    named = {Path(name).name for row in rows for name in re.findall(r"`([\w./]+\.\w+)`", row)}
    existing = {path.name for path in (ROOT / "pipelines").rglob("*.*")}
    assert "fusion.py" in named
    assert named - existing == set()


def test_broken_links_are_found(tmp_path):
    (tmp_path / "other.md").write_text("# A title: with `code`\n## Twice\n## Twice\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#a-title-with-code) [b](other.md#twice-1) [c](#here) [d](https://x.org)\n"
        "[e](missing.md) [f](other.md#twice-2) [g](#there) `[h](code)`\n"
        "```\n# there\n[i](code)\n```\n# Here\n"
    )
    assert broken_links(page) == ["missing.md", "other.md#twice-2", "#there"]
