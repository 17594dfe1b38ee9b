"""Converts exceptions to `Error`, and applies this to public functions."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import traceback
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

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


def wrong_argument(function: Callable[..., Any], args: tuple, kwargs: dict) -> str | None:
    """Describes the first argument that does not fit, in one line.

    Returns None if all arguments fit, or if their types are unknown.
    """
    signature = inspect.signature(function)
    try:
        call = signature.bind(*args, **kwargs)
    except TypeError as problem:
        return f"{function.__name__}: {problem}"
    hints = _hints(function)
    for name, value in call.arguments.items():
        parameter = signature.parameters[name]
        is_several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if not is_several and not _fits(value, hints.get(name, Any)):
            wanted = inspect.formatannotation(parameter.annotation).strip("'")
            return f"{function.__name__}: {name} is {_described(value)}, expected {wanted}"
    return None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the types of the parameters, except types that only type checkers import."""
    hints = {}
    for name, annotation in inspect.get_annotations(function).items():
        one = types.SimpleNamespace(__annotations__={name: annotation})
        with contextlib.suppress(NameError):
            hints |= typing.get_type_hints(one, vars(inspect.getmodule(function)))
    return hints


def _fits(value: Any, hint: Any) -> bool:
    if hint is Any:
        return True
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    kind = origin or hint
    if kind is float and isinstance(value, int):
        return True
    if not isinstance(kind, type):
        return True
    if not isinstance(value, kind):
        return False
    if isinstance(value, Mapping) and len(inner) == 2:
        return all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items())
    if isinstance(value, (list, tuple, set, frozenset)) and issubclass(kind, Collection):
        elements = [one for one in inner if one is not Ellipsis]
        return len(elements) != 1 or all(_fits(one, elements[0]) for one in value)
    return True


def _described(value: Any) -> str:
    if isinstance(value, (list, tuple, set, frozenset, Mapping)) and value:
        elements = value.values() if isinstance(value, Mapping) else value
        return f"a {type(value).__name__} of {type(next(iter(elements))).__name__}"
    return f"a {type(value).__name__}"
