"""Resolves passes that users name: MLIR's passes, and the users' own Python functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.pipeline import Step, spelled
from pipelines.user_files import load_attribute
from unmess.core.errors.error import Error
from unmess.core.options.names import did_you_mean

_FUNCTION = re.compile(r"(.+\.py):(\w+)")
_FUNCTIONS_ONLY = "restricted to 'func.func'"
_WHY = "inserted by the user"
_TAKES = "the function takes an ir.Module and changes it in place"

UserPass = str | Callable[[ir.Module], object]


def as_step(own: UserPass, known: tuple[str, ...] = ()) -> Step:
    """Converts a user's pass to a step.

    Args:
        own: a pass in MLIR's syntax (`cse`, `canonicalize{max-iterations=3}`), with or without
            `func.func(…)` around it; a function that changes an `ir.Module` in place; or
            `FILE.py:FUNCTION` for such a function.
        known: names to suggest if there is no such pass.

    Raises:
        Error: stage `usage`, if there is no such pass, or the file fails.
    """
    if callable(own):
        return _rewrite(own)
    if match := _FUNCTION.fullmatch(own):
        return _rewrite(_load(match[1], match[2]))
    step = Step(own, _WHY, tool="unmess-opt")
    problem = problem_of(step)
    if problem and _FUNCTIONS_ONLY in problem:
        step = Step(f"func.func({own})", _WHY, tool="unmess-opt")
        problem = problem_of(step)
    if problem is None:
        return step
    raise Error(
        "usage",
        f"{own!r} is not a pass: {problem}",
        hint=did_you_mean(
            own.partition("{")[0], known, "write a pass in MLIR's syntax, or FILE.py:FUNCTION"
        ),
    )


def problem_of(step: Step) -> str | None:
    """Returns, in one line, why MLIR rejects the text of a step; None if it accepts it."""
    with ir.Context() as context:
        context.emit_error_diagnostics = False
        try:
            PassManager.parse(spelled((step,)))
        except ValueError as problem:
            message = str(problem).splitlines()[0]
            return message.partition("error: ")[2] or message
    return None


def _rewrite(function: Callable[[ir.Module], object]) -> Step:
    name = getattr(function, "__name__", type(function).__name__)
    code = getattr(inspect.unwrap(function), "__code__", None)
    argument = f"{code.co_filename}:{name}" if code else None
    return Step(name, _WHY, function, argument=argument)


def _load(path: str, name: str) -> Callable[[ir.Module], object]:
    function = load_attribute(path, name, "function", _TAKES)
    if not callable(function):
        raise Error("usage", f"{path} has no function {name}", hint=_TAKES)
    return function
