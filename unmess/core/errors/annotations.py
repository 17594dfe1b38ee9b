"""Compares the arguments of a failed call with the annotations of the function."""

from __future__ import annotations

import contextlib
import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any


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
