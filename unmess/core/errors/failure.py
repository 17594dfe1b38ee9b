"""Converts exceptions to `Error`, and applies this to public functions."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from unmess.core.errors.annotations import wrong_argument
from unmess.core.errors.error import Error, first_line, message_of
from unmess.core.errors.stages import STAGES
from unmess.core.processes import current_stage

DEBUG_HINT = "report this bug in unmess; --debug shows the traceback"

_Function = TypeVar("_Function", bound=Callable[..., Any])


def only_errors(stage: str = "usage") -> Callable[[_Function], _Function]:
    """Makes a public function raise only `Error`, with the original exception as its cause.

    `KeyboardInterrupt` comes from the user and is not converted.

    Args:
        stage: the stage of such an Error, unless the function enters another one.
    """

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            # No context manager: calls of small programs take only tens of microseconds.
            token = current_stage.begin(stage)
            try:
                return function(*args, **kwargs)
            except (Error, KeyboardInterrupt):
                raise
            except BaseException as problem:
                error = as_error(problem, current_stage.current_stage())
                # Check arguments only after a failure, so that successful calls do not pay for it.
                wrong = wrong_argument(function, args, kwargs)
                if wrong is not None and error.hint == DEBUG_HINT:
                    error = Error("usage", wrong)
                raise error from problem
            finally:
                current_stage.end(token)

        return guarded

    return decorate


def as_error(problem: BaseException, stage: str) -> Error:
    """Returns `problem` if it is an Error, else an Error in `stage` that describes it."""
    if isinstance(problem, Error):
        return problem
    stage = stage if stage in STAGES else "usage"
    where, is_users = _origin(problem)
    if isinstance(problem, SystemExit):
        return Error(
            stage,
            f"the model's code ends the process: sys.exit({_text(problem.code)})",
            where=where,
            hint="raise an exception instead",
        )
    if is_users:
        return Error(
            stage,
            f"the model's code raises {first_line(problem)}",
            where=where,
            hint="run that line on its own; pass --debug for the traceback",
        )
    return Error(stage, f"internal error: {first_line(problem)}", where=where, hint=DEBUG_HINT)


def _origin(problem: BaseException) -> tuple[str | None, bool]:
    """Returns the user's line behind an exception, and whether the user's code raised it."""
    if "torch" not in sys.modules:
        return None, False
    from unmess.core.errors.user_source import is_own_code, user_line

    where = user_line(problem)
    frames = list(traceback.walk_tb(problem.__traceback__))
    return where, bool(frames) and is_own_code(frames[-1][0].f_code.co_filename)


def _text(value: Any) -> str:
    """Returns `repr(value)`; the type's name if a `__repr__` of the model's code fails."""
    try:
        return repr(value)
    except Exception:
        return type(value).__name__


def full_cause(problem: BaseException) -> str | None:
    """Returns the full messages of all exceptions behind an Error; None if there are none.

    For an exception that is not an Error, its own message comes first.
    """
    parts = []
    current = problem.__cause__ if isinstance(problem, Error) else problem
    while current is not None:
        parts.append(f"{type(current).__name__}: {message_of(current)}".rstrip())
        current = current.__cause__
    return "\ncaused by ".join(parts) or None
