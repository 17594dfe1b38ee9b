"""Resolves passes that users name: MLIR's passes, and the users' own Python functions."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Callable
from pathlib import Path

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.pipeline import Rewrite, Step, spelled
from unmess.core.error import Error, first_line
from unmess.core.suggest import did_you_mean
from unmess.core.user_source import user_line

_FUNCTION = re.compile(r"(.+\.py):(\w+)")
_FUNCTIONS_ONLY = "restricted to 'func.func'"
_WHY = "the user's"

OwnPass = str | Callable[[ir.Module], object]


def as_step(own: OwnPass, known: tuple[str, ...] = ()) -> Step | Rewrite:
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
            own.partition("{")[0], known, "a pass as MLIR spells it, or FILE.py:FUNCTION"
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


def _rewrite(function: Callable[[ir.Module], object]) -> Rewrite:
    name = getattr(function, "__name__", type(function).__name__)
    code = getattr(inspect.unwrap(function), "__code__", None)
    argument = f"{code.co_filename}:{name}" if code else None
    return Rewrite(name, _WHY, function, argument)


def _load(path: str, name: str) -> Callable[[ir.Module], object]:
    file = Path(path).expanduser()
    if not file.is_file():
        raise Error("usage", f"no file {path}", hint="a pass of one's own is FILE.py:FUNCTION")
    spec = importlib.util.spec_from_file_location(f"_unmess_pass_{file.stem}", file.resolve())
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as problem:
        raise Error(
            "usage",
            f"{path} does not run: {first_line(problem)}",
            where=user_line(problem),
            hint="run the file on its own first",
        ) from problem
    function = getattr(module, name, None)
    if not callable(function):
        functions = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        raise Error(
            "usage",
            f"{path} has no function {name}",
            hint=did_you_mean(name, functions, "it takes an ir.Module, and changes it in place"),
        )
    return function
