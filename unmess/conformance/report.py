"""The reports of a conformance run: a table, JUnit XML, and an HTML page."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmess.conformance.causes import Cause
from unmess.conformance.levels import LEVELS
from unmess.conformance.result import FAILED, PASS, SKIP, STATUSES, Result

# Characters that XML 1.0 does not have.
_NO_XML = {code: None for code in range(32) if chr(code) not in "\t\n\r"}


@dataclass(frozen=True)
class Group:
    """The number of cases of one kind by status."""

    kind: str
    name: str
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """The number of all cases."""
        return sum(self.counts.values())


def grouped(results: Sequence[Result]) -> list[Group]:
    """Returns the numbers of cases by level, category, dtype, and kind of sizes."""
    kinds: dict[str, Callable[[Result], str]] = {
        "level": lambda each: f"{each.level}: {LEVELS[each.level]}",
        "category": lambda each: each.category,
        "dtype": lambda each: each.dtype,
        "sizes": lambda each: ("dynamic" if each.dynamic else "static") if each.level == 1 else "",
    }
    found = []
    for kind, name_of in kinds.items():
        counts: dict[str, Counter[str]] = {}
        for result in results:
            if name := name_of(result):
                counts.setdefault(name, Counter())[result.status] += 1
        found += [Group(kind, name, counts[name]) for name in counts]
    return found


@dataclass(frozen=True)
class Expectation:
    """How the results differ from a list of expected failures.

    Attributes:
        unexpected: the cases that fail, and are not in the list.
        fixed: the cases in the list that pass.
    """

    unexpected: tuple[str, ...]
    fixed: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether all failures are expected, and all expected failures fail."""
        return not self.unexpected and not self.fixed


def compare_with_expected(results: Iterable[Result], expected: Iterable[str]) -> Expectation:
    """Compares the results with the names of expected failures. Ignores cases without a result."""
    names = set(expected)
    results = list(results)
    return Expectation(
        tuple(each.name for each in results if each.status in FAILED and each.name not in names),
        tuple(each.name for each in results if each.status == PASS and each.name in names),
    )


def explains_all(results: Sequence[Result], expected: Iterable[str]) -> bool:
    """Returns whether the failures of a level explain those of the levels above it.

    This is so if no case passes and some failure is unexpected: a backend that runs no single
    operator runs no model.
    """
    unexpected = compare_with_expected(results, expected).unexpected
    return bool(unexpected) and all(result.status != PASS for result in results)


def read_expected(path: Path) -> list[str]:
    """Returns the names in a file: one on each line; lines that begin with `# ` are comments."""
    lines = (line.strip() for line in path.read_text("utf-8").splitlines())
    return [line for line in lines if line not in ("", "#") and not line.startswith("# ")]


def junit(about: Mapping[str, Any], results: Sequence[Result], expected: Iterable[str]) -> str:
    """Returns JUnit XML: a suite for each level, a class for each category."""
    names = set(expected)
    root = ET.Element("testsuites", name=f"conformance of {about['backend']}")
    for level in sorted({result.level for result in results}):
        members = [result for result in results if result.level == level]
        failures = [each for each in members if each.status in FAILED and each.name not in names]
        skipped = [each for each in members if each.status == SKIP]
        suite = ET.SubElement(
            root,
            "testsuite",
            name=f"level {level}: {LEVELS[level]}",
            tests=str(len(members)),
            failures=str(len(failures)),
            skipped=str(len(skipped)),
        )
        for each in members:
            case = ET.SubElement(
                suite,
                "testcase",
                name=_clean(each.name),
                classname=f"level{level}.{each.category}",
            )
            message = _clean(f"{each.status}: {each.stage}: {each.cause}")
            if each in failures:
                ET.SubElement(case, "failure", message=message, type=each.status)
            elif each.status != PASS:
                ET.SubElement(case, "skipped", message=message)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def page(
    about: Mapping[str, Any],
    results: Sequence[Result],
    causes: Sequence[Cause],
    expectation: Expectation,
) -> str:
    """Returns the HTML page. It loads nothing from elsewhere."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("unmess.conformance", "."),
        autoescape=True,
        undefined=StrictUndefined,
    )
    return environment.get_template("report.html.jinja").render(
        about=about,
        groups=grouped(results),
        results=results,
        causes=causes,
        statuses=STATUSES,
        expectation=expectation,
    )


def _clean(text: str) -> str:
    return text.translate(_NO_XML)
