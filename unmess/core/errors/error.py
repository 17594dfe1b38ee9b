"""The one exception that users see."""

from __future__ import annotations

from typing import Any

from unmess.core.errors.stages import STAGES

# The exit status if a stage fails.
STAGE_FAILED = 3


class Error(Exception):
    """An error with its stage, its cause, the user's source line, and a hint.

    Attributes:
        stage: one of `STAGES`; `usage` for arguments that unmess itself refuses.
        cause: what went wrong, in one line.
        where: the user's source line as `file:line`, or None if PyTorch recorded none.
        hint: what to do next, one line, or None.
        repro: path of a file that reproduces the failure (from lowering on), or None.
    """

    def __init__(
        self,
        stage: str,
        cause: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        repro: str | None = None,
    ):
        if stage not in STAGES:
            raise ValueError(f"unknown stage {stage!r}")
        self.stage = stage
        self.cause = " ".join(cause.split())
        self.where = where
        self.hint = hint
        self.repro = repro
        super().__init__(stage, self.cause)

    def __reduce__(self):
        return _rebuild, (self.stage, self.cause, self.where, self.hint, self.repro)

    def __str__(self) -> str:
        lines = [f"{self.stage}: {self.cause}"]
        lines += [
            f"  {label}: {value}"
            for label, value in (("at", self.where), ("hint", self.hint), ("repro", self.repro))
            if value
        ]
        return "\n".join(lines)

    def document(self) -> dict[str, Any]:
        """Returns the JSON document that a command prints with `--json`."""
        return {
            "ok": False,
            "stage": self.stage,
            "error": self.cause,
            "where": self.where,
            "hint": self.hint,
            "repro": self.repro,
        }

    @property
    def exit_status(self) -> int:
        """See the function `exit_status`."""
        return exit_status(self.stage)


def exit_status(stage: str) -> int:
    """Returns 2 for bad usage or input, 1 for a wrong result, 3 for a stage that failed."""
    return {"usage": 2, "source": 2, "compare": 1}.get(stage, STAGE_FAILED)


def _rebuild(stage, cause, where, hint, repro) -> Error:
    return Error(stage, cause, where=where, hint=hint, repro=repro)


def message_of(exception: BaseException) -> str:
    """Returns `str(exception)`; empty if the exception's own `__str__` fails."""
    try:
        return str(exception)
    except Exception:
        return ""


def first_line(exception: BaseException, limit: int = 300) -> str:
    """Returns an exception's type and the first line of its message that is not empty."""
    lines = message_of(exception).splitlines()
    message = next((line.strip() for line in lines if line.strip()), "")
    text = f"{type(exception).__name__}: {message}" if message else type(exception).__name__
    return text if len(text) <= limit else text[: limit - 1] + "…"


def needs_trust(path: object, what: str, where: str | None = None) -> Error:
    """Returns the Error (`source`) for a file that can run code, which the user has not allowed.

    Args:
        what: the part of the file that can run code, such as "pickled Python objects".
        where: its source line, if there is one.
    """
    return Error(
        "source",
        f"{path} contains {what}, which could run any code",
        where=where,
        hint="if you trust its author, pass --trust, or trust=True in Python",
    )
