"""Groups failures by cause, and finds the smallest failing IR of each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from unmess.conformance.levels import ConformanceCase
from unmess.conformance.result import FAILED, Result
from unmess.core.files.writing import write_text
from unmess.core.processes.workers import Died, Parent, each_in_workers

# Parts of a message that differ between cases with the same cause.
_VARIES = re.compile(r"0x[0-9a-f]+|[-+]?\d+(\.\d+)?(e[-+]?\d+)?|\[[^\]]*\]|'[^']*'|<[^>]*>")
# The smallest IR of a cause is searched among this many of its cases.
_MOST = 12
_SECONDS = 60.0


@dataclass
class Cause:
    """Failures with the same stage, and the same message but for numbers and names.

    Attributes:
        text: the message of the first one.
        names: the cases.
        smallest: the case with the smallest IR; None if no IR could be made.
        file: the file with that IR, relative to the folder of the report.
    """

    status: str
    stage: str
    text: str
    names: list[str]
    smallest: str | None = None
    file: str | None = None


def causes_of(results: Iterable[Result]) -> list[Cause]:
    """Returns the causes of all failures, the most frequent first."""
    found: dict[tuple[str, str], Cause] = {}
    for result in results:
        if result.status in FAILED:
            key = (result.stage or "", _VARIES.sub("…", result.cause or ""))
            # The message of a comparison has the number of wrong elements, which does not identify
            # the cause.
            if result.stage == "compare":
                key = ("compare", result.category)
            cause = found.setdefault(
                key, Cause(result.status, result.stage or "", result.cause or "", [])
            )
            cause.names.append(result.name)
    return sorted(found.values(), key=lambda cause: -len(cause.names))


def smallest_inputs(
    parent: Parent, causes: Iterable[Cause], cases: dict[str, ConformanceCase], on: str
) -> list[str | None]:
    """Returns the smallest failing IR of each cause, None without one. Sets `Cause.smallest`.

    Only cases of levels 1 and 2 count: models are large.
    """
    smallest: list[str | None] = []
    for cause in causes:
        known = [cases[name] for name in cause.names if name in cases and cases[name].level < 3]
        items = [(case, on) for case in known[:_MOST]]
        found = each_in_workers(parent, items, "unmess.conformance.printing:input_text", _SECONDS)
        texts = [
            (text, case.name)
            for text, (case, _) in zip(found, items, strict=True)
            if text is not None and not isinstance(text, Died)
        ]
        text = None
        if texts:
            text, cause.smallest = min(texts, key=lambda each: len(each[0]))
        smallest.append(text)
    return smallest


def write_causes(causes: Iterable[Cause], texts: Iterable[str | None], folder: Path) -> None:
    """Writes the IR of each cause to `causes/N.mlir` in a folder, and removes those of before.

    Raises:
        OSError: a file cannot be written.
    """
    files = folder / "causes"
    for path in files.glob("*.mlir"):
        path.unlink()
    for number, (cause, text) in enumerate(zip(causes, texts, strict=True), 1):
        if text is not None:
            files.mkdir(exist_ok=True)
            cause.file = f"causes/{number}.mlir"
            header = f"// {cause.smallest}\n// {cause.stage}: {cause.text}\n"
            write_text(folder / cause.file, header + text)
