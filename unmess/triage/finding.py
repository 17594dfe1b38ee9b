"""The result of a triage. This module does not import PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmess.triage.known_limits import Match


@dataclass(frozen=True)
class Finding:
    """The result of a triage.

    Attributes:
        stage, kind: where and how the model fails.
        cause: the message, in one line.
        operator: the operator behind the failure, such as `aten.histc.default`, if it is known.
        where: the user's source line.
        before, after: the numbers of operators of the model and of the reduced program; None if
            they are not known.
        module: the module that fails alone, if no program without the model's code does.
        ir_operations: the number of operations in `repro.mlir`, if it was reduced by itself.
        folder: the folder with the reproducer.
        files: the names of its files.
        tool: what fails in `repro.py`.
        reproduces: whether `repro.py` showed the same failure in a process of its own; None if it
            was not run, after an interruption.
        limit: the known limit that the failure matches.
        origin: what makes a result wrong, in one line; None if it was not looked for.
        value: the first wrong value, in one line; None if it was not looked for or found.
        dispatch: a line about the dispatch that IREE miscompiles; None if it was not
            looked for.
        trials: the number of programs that were checked.
        is_complete: False if the time limit ended the search.
    """

    stage: str
    kind: str
    cause: str
    operator: str | None
    where: str | None
    before: int | None
    after: int | None
    module: str | None
    ir_operations: int | None
    folder: Path
    files: tuple[str, ...]
    tool: str
    reproduces: bool | None
    limit: Match | None
    origin: str | None
    value: str | None
    dispatch: str | None
    trials: int
    is_complete: bool

    def as_json(self) -> dict[str, Any]:
        """Returns plain data for a JSON document."""
        limit = self.limit
        return {
            "stage": self.stage,
            "kind": self.kind,
            "error": self.cause,
            "operator": self.operator,
            "where": self.where,
            "operators_before": self.before,
            "operators_after": self.after,
            "module": self.module,
            "ir_operations": self.ir_operations,
            "folder": str(self.folder),
            "files": list(self.files),
            "tool": self.tool,
            "reproduces": self.reproduces,
            "limit": limit
            and {"of": limit.of, "cause": limit.limit.cause, "link": limit.limit.link},
            "origin": self.origin,
            "value": self.value,
            "dispatch": self.dispatch,
            "trials": self.trials,
            "complete": self.is_complete,
        }
