"""One row of the output of `unmess check`: the result of a model on a runner."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from unmess.core.errors.error import Error, exit_status

# The steps that are timed. `run` and `eager` are medians of several calls.
STEPS = ("capture", "import", "lower", "compile", "load", "run", "eager")


@dataclass
class Row:
    """The result of a model on a runner.

    Attributes:
        model: the model string as the user wrote it.
        via: the output dialect whose IR runs, if the user chose one.
        operators: the operators of the captured graph, sorted, if requested; None if unknown.
        versions: the versions of the libraries, if requested, by package.
        finished: when the row was finished: UTC in ISO 8601, if requested.
        ok: the result matches eager PyTorch.
        stage: `done`, or the stage where it stopped (`compare` for a wrong result).
        error: why it stopped, in one line.
        max_abs_error, max_rel_error, max_element_error: as in `Report`; None if nothing was
            compared, or if the difference is infinite or NaN; `error` then says so.
        seconds: time by step. Steps that failed or were not reached are missing.
        peak_rss_mb: peak memory of the process, in 10**6 bytes.
        where, hint, repro: as in `unmess.Error`.
        source: the text of the line `where`, if it is the model's own code.
        notes: all differences from the model that the user passed in.
        sizes: the comparisons at further sizes of dynamic dimensions: `sizes` by symbol, `ok` (null
            if eager does not accept them) and `error`.
        with_plain: for a wrong result with a preset of IREE's compiler other than `plain`:
            `preset`, `ok` with `plain` (null if there is no result), `error`, and `text`, one line
            that says whether the preset is at fault.
        detail: the exceptions behind `error` in full, without their tracebacks.
        traceback: their tracebacks, if requested.
    """

    model: str
    runner: str
    ok: bool
    stage: str
    error: str | None = None
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    max_element_error: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    peak_rss_mb: float | None = None
    where: str | None = None
    hint: str | None = None
    repro: str | None = None
    notes: list[str] = field(default_factory=list)
    sizes: list[dict[str, Any]] = field(default_factory=list)
    detail: str | None = None
    traceback: str | None = None
    via: str | None = None
    with_plain: dict[str, Any] | None = None
    operators: list[str] | None = None
    versions: dict[str, str] = field(default_factory=dict)
    finished: str | None = None
    source: str | None = None

    @property
    def place(self) -> str:
        """The runner, and the output dialect if one was chosen."""
        return self.runner if self.via is None else f"{self.runner} via {self.via}"

    def __post_init__(self) -> None:
        self.max_abs_error = _finite(self.max_abs_error)
        self.max_rel_error = _finite(self.max_rel_error)
        self.max_element_error = _finite(self.max_element_error)

    @classmethod
    def failed(cls, model: str, runner: str, error: Error, **more: Any) -> Row:
        """Returns the row of a model that stopped with `error`."""
        return cls(
            model,
            runner,
            ok=False,
            stage=error.stage,
            error=error.cause,
            where=error.where,
            hint=error.hint,
            repro=error.repro,
            **more,
        )

    @property
    def exit_status(self) -> int:
        """0 on success, else the exit status of the stage that it stopped in."""
        return 0 if self.ok else exit_status(self.stage)

    def as_json(self) -> dict[str, Any]:
        """Returns plain data for a JSON document. `seconds` has every step, null if not timed."""
        return {
            "model": self.model,
            "runner": self.runner,
            "via": self.via,
            "ok": self.ok,
            "stage": self.stage,
            "error": self.error,
            "max_abs_error": self.max_abs_error,
            "max_rel_error": self.max_rel_error,
            "max_element_error": self.max_element_error,
            "seconds": {step: self.seconds.get(step) for step in STEPS},
            "peak_rss_mb": self.peak_rss_mb,
            "where": self.where,
            "hint": self.hint,
            "repro": self.repro,
            "notes": self.notes,
            "sizes": self.sizes,
            "with_plain": self.with_plain,
        }


def _finite(number: float | None) -> float | None:
    """Returns None for NaN and infinity, which JSON does not have."""
    return number if number is not None and math.isfinite(number) else None
