"""Any exception as an `Error`, and the guard of public functions that uses it."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from unmess.core import current_stage
from unmess.core.annotations import wrong_argument
from unmess.core.error import STAGES, Error, first_line, message_of

DEBUG_HINT = "this is a bug in unmess; run again with --debug for the traceback"

_Function = TypeVar("_Function", bound=Callable[..., Any])


def only_errors(stage: str = "usage") -> Callable[[_Function], _Function]:
    """Makes a public function raise `Error` and nothing else, with the original as its cause.

    `KeyboardInterrupt` is the user's and passes.

    Args:
        stage: of an Error that is made of another exception, unless the function enters one.
    """

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            # No context manager: a call of a small program takes some tens of microseconds.
            token = current_stage.begin(stage)
            try:
                return function(*args, **kwargs)
            except (Error, KeyboardInterrupt):
                raise
            except BaseException as problem:
                error = as_error(problem, current_stage.current_stage())
                # Arguments are checked only now: calls that succeed do not pay for it.
                wrong = wrong_argument(function, args, kwargs)
                if wrong is not None and error.hint == DEBUG_HINT:
                    error = Error("usage", wrong)
                raise error from problem
            finally:
                current_stage.end(token)

        return guarded

    return decorate


def as_error(problem: BaseException, stage: str) -> Error:
    """`problem` itself if it is an Error, else an Error that says what was raised in `stage`."""
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
            hint="run that line on its own; --debug shows the traceback",
        )
    return Error(stage, f"internal error: {first_line(problem)}", where=where, hint=DEBUG_HINT)


def _origin(problem: BaseException) -> tuple[str | None, bool]:
    """The user's line behind an exception, and whether that line itself raised it."""
    if "torch" not in sys.modules:
        return None, False
    from unmess.core.user_source import is_own_code, user_line

    where = user_line(problem)
    frames = list(traceback.walk_tb(problem.__traceback__))
    return where, bool(frames) and is_own_code(frames[-1][0].f_code.co_filename)


def _text(value: Any) -> str:
    """`repr`, which the model's code may have defined."""
    try:
        return repr(value)
    except Exception:
        return type(value).__name__


def full_cause(problem: BaseException) -> str | None:
    """Every exception behind an Error with its whole message; None where there is none.

    Any other exception is part of the answer itself.
    """
    parts = []
    current = problem.__cause__ if isinstance(problem, Error) else problem
    while current is not None:
        parts.append(f"{type(current).__name__}: {message_of(current)}".rstrip())
        current = current.__cause__
    return "\ncaused by ".join(parts) or None
