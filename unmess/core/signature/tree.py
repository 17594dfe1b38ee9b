"""The containers of arguments and results, as JSON.

A tree is None for a leaf, or an object of one key: `{"list": [tree…]}`, `{"tuple": [tree…]}`,
`{"dict": [[key, tree]…]}`, or `{"namedtuple": [name, [[field, tree]…]]}`.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping
from typing import Any

from unmess.core.signature.call import misfit

Tree = dict[str, Any] | None


def flatten(tree: Tree, value: Any, place: str) -> list[Any]:
    """Returns the leaves of a value with the structure of `tree`.

    Args:
        place: name of the value, for messages.

    Raises:
        Error: stage `run`; the value has other containers, or other keys.
    """
    if tree is None:
        return [value]
    ((kind, parts),) = tree.items()
    leaves = []
    for part, child, at in _children(kind, parts, value, place):
        leaves += flatten(part, child, at)
    return leaves


def unflatten(tree: Tree, leaves: Iterator[Any]) -> Any:
    """Builds a value with the structure of `tree` from the next leaves."""
    if tree is None:
        return next(leaves)
    ((kind, parts),) = tree.items()
    if kind == "list":
        return [unflatten(part, leaves) for part in parts]
    if kind == "tuple":
        return tuple(unflatten(part, leaves) for part in parts)
    if kind == "dict":
        return {key: unflatten(part, leaves) for key, part in parts}
    name, fields = parts
    made = namedtuple(name, [field for field, _ in fields])
    return made(*(unflatten(part, leaves) for _, part in fields))


def _children(kind: str, parts: Any, value: Any, place: str) -> Iterator[tuple[Tree, Any, str]]:
    if kind in ("list", "tuple"):
        if not isinstance(value, (list, tuple)) or len(value) != len(parts):
            raise misfit(f"{place} is {_shown(value)}, expected a {kind} of {len(parts)}")
        for index, (part, child) in enumerate(zip(parts, value, strict=True)):
            yield part, child, f"{place}[{index}]"
    elif kind == "dict":
        keys = [key for key, _ in parts]
        if not isinstance(value, Mapping) or set(value) != set(keys):
            raise misfit(f"{place} is {_shown(value)}, expected a dict with the keys {keys}")
        for key, part in parts:
            yield part, value[key], f"{place}[{key!r}]"
    else:
        name, fields = parts
        if not isinstance(value, tuple) or len(value) != len(fields):
            raise misfit(f"{place} is {_shown(value)}, expected a tuple like {name}")
        for (field, part), child in zip(fields, value, strict=True):
            yield part, child, f"{place}.{field}"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a dict with the keys {list(value)}"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"
