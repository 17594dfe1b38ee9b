"""The result of a case, and the file that keeps results."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unmess.core.errors.error import Error
from unmess.core.errors.stages import BEFORE_BACKEND
from unmess.core.files.writing import writing_to

PASS, FAIL, WRONG, CRASH, HANG, SKIP = "pass", "fail", "wrong", "crash", "hang", "skip"
# In the order of reports.
STATUSES = (PASS, FAIL, WRONG, CRASH, HANG, SKIP)
FAILED = (FAIL, WRONG, CRASH, HANG)
RESULTS = "results.jsonl"
# Stages before the backend. `usage` is not one of them: the backend may have refused its input.
_BEFORE = (*BEFORE_BACKEND, "eager")
_HANG = re.compile(r"\btimed out after\b")
_CRASH = re.compile(r"\bcrash(ed|es) with\b|\bthe process ended with status\b")
_GARBAGE = "garbage output"


@dataclass(frozen=True)
class Result:
    """The result of one case.

    Attributes:
        name: the case, unique among all levels.
        category: such as `reductions`; for models the source.
        dtype: of the first tensor: `f32`; empty for models.
        dynamic: whether a size is dynamic.
        status: `pass`; `fail` (does not compile or load, or refuses the call), `wrong` (the result
            differs, or is garbage), `crash`, `hang`; `skip` if the program did not reach the
            backend.
        stage, cause: where it stopped and why; None if it passed.
    """

    name: str
    level: int
    category: str
    dtype: str
    dynamic: bool
    status: str
    stage: str | None = None
    cause: str | None = None


def status_of(stage: str | None, cause: str | None) -> str:
    """Returns the status of a case that stopped at `stage`; a stage of None means `pass`."""
    if stage is None:
        return PASS
    text = cause or ""
    if _HANG.search(text):
        return HANG
    if _CRASH.search(text):
        return CRASH
    if stage in _BEFORE:
        return SKIP
    return WRONG if stage == "compare" or _GARBAGE in text else CRASH if stage == "crash" else FAIL


class ResultFile:
    """The results of a run, one JSON object on each line, after a line about the backend.

    Each result is written as soon as it is available, so an interrupted run can be continued.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any]):
        """Opens or creates the file in `folder`, and locks it against other runs until it closes.

        Raises:
            Error: stage `usage`; the file is about another backend or another version of it,
                another run has it open, or it cannot be written.
        """
        self.path = folder / RESULTS
        self.results: dict[str, Result] = {}
        with writing_to(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            self.close()
            raise Error(
                "usage",
                f"another run writes to {self.path}",
                hint="choose another folder with -o, or wait for the other run to end",
            ) from problem
        try:
            self._continue(about)
        except BaseException:
            self.close()
            raise

    def _continue(self, about: Mapping[str, Any]) -> None:
        """Reads the results that are there. Writes the line about the backend to a new file."""
        if not self.path.stat().st_size:
            self._write(about)
            return
        _cut_unfinished(self.path)
        before, results = read_results(self.path)
        changed = [key for key in about if before.get(key) != about[key]]
        if changed:
            raise Error(
                "usage",
                f"{self.path} has results of another backend: {', '.join(changed)} differ",
                hint="choose another folder with -o, or remove that one",
            )
        self.results = {result.name: result for result in results}

    def add(self, result: Result) -> None:
        """Appends a result."""
        self.results[result.name] = result
        self._write(asdict(result))

    def _write(self, row: Mapping[str, Any]) -> None:
        with writing_to(self.path):
            self._file.write(json.dumps(row) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Closes the file, so that another run can write to it."""
        self._file.close()


def read_results(path: Path) -> tuple[dict[str, Any], list[Result]]:
    """Returns the line about the backend and the results of a file, or of the file in a folder.

    Skips a last line that was cut off when the run was interrupted.

    Raises:
        Error: stage `usage`; there is no such file, or it is no file of results.
    """
    path = path / RESULTS if path.is_dir() else path
    try:
        about, *rows = list(_lines(path))
        if not isinstance(about, dict) or "backend" not in about:
            raise ValueError("no line about the backend")
        return about, [Result(**row) for row in rows]
    except (OSError, ValueError, TypeError) as problem:
        raise Error(
            "usage",
            f"{path} is no file of conformance results",
            hint="`unmess conformance -o DIR` writes one",
        ) from problem


def _cut_unfinished(path: Path) -> None:
    """Removes a last line that was cut off, so that the next one does not continue it."""
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    if 0 < end < len(content):
        os.truncate(path, end)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    lines = path.read_text("utf-8").split("\n")
    lines = lines[:-1] if not lines[-1] else lines
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except ValueError:
            if number < len(lines) or number == 1:
                raise


@dataclass(frozen=True)
class Change:
    """A case whose status differs between two reports; None where a report lacks it."""

    name: str
    before: str | None
    after: str | None
    cause: str | None = None

    @property
    def is_regression(self) -> bool:
        """Whether the case passed before, and does not pass now."""
        return self.before == PASS and self.after not in (PASS, None)


def changes(old: Iterable[Result], new: Iterable[Result]) -> list[Change]:
    """Returns the cases whose status differs, regressions first."""
    before = {result.name: result for result in old}
    after = {result.name: result for result in new}
    found = []
    for name in dict.fromkeys((*before, *after)):
        one, other = before.get(name), after.get(name)
        statuses = (one and one.status, other and other.status)
        if statuses[0] != statuses[1]:
            found.append(Change(name, *statuses, other and other.cause))
    return sorted(found, key=lambda change: not change.is_regression)
