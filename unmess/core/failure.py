"""What an exception says to a person, short and in full."""

from __future__ import annotations

from unmess.core.error import Error, first_line

DEBUG_HINT = "this is a bug in unmess; run again with --debug for the traceback"


def as_error(problem: BaseException, stage: str) -> Error:
    """`problem` itself where it is an Error, else what it means that it got out of `stage`."""
    if isinstance(problem, Error):
        return problem
    if isinstance(problem, SystemExit):
        from unmess.core.user_source import user_line

        return Error(
            stage,
            f"the model's code ends the process: sys.exit({problem.code!r})",
            where=user_line(problem),
            hint="raise an exception instead",
        )
    return Error(stage, f"internal error: {first_line(problem)}", hint=DEBUG_HINT)


def full_cause(problem: BaseException) -> str | None:
    """Every exception behind an Error with its whole message; None where there is none.

    Any other exception is part of the answer itself.
    """
    parts = []
    current = problem.__cause__ if isinstance(problem, Error) else problem
    while current is not None:
        parts.append(f"{type(current).__name__}: {current}".rstrip())
        current = current.__cause__
    return "\ncaused by ".join(parts) or None
