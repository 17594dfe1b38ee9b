"""Checks the sizes in a call, and solves for the size symbols. Independent of PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unmess.core.signature.call import misfit
from unmess.core.signature.size_expression import Dim, SizeExpression


def solve(
    dims: Mapping[str, Sequence[int | Dim]],
    shapes: Mapping[str, Sequence[int]],
    numbers: Mapping[str, int | float],
    guards: Sequence[SizeExpression],
) -> dict[str, int]:
    """Returns the values of the size symbols in a call, after checking relations between sizes.

    Args:
        dims: the declared shapes of the inputs that have dynamic dimensions, by input name.
        shapes: the shapes of these inputs in the call, of the same ranks.
        numbers: the inputs that are numbers; guards may involve them.
        guards: conditions on sizes (`x.shape[0]`) and numbers.

    Raises:
        Error: stage `run`; sizes contradict each other, or a guard does not hold.
    """
    places: dict[str, int] = {}
    dynamic: list[tuple[Dim, str]] = []
    for name, declared in dims.items():
        for axis, (dim, size) in enumerate(zip(declared, shapes[name], strict=True)):
            place = f"{name}.shape[{axis}]"
            places[place] = size
            if isinstance(dim, Dim):
                dynamic.append((dim, place))
    # Dimensions that are a single symbol come first, since they determine the others.
    dynamic.sort(key=lambda item: item[0].parsed.names != [item[0].expression])
    symbols: dict[str, int] = {}
    origin: dict[str, str] = {}
    pending: list[tuple[Dim, str]] = []
    while len(pending) != len(dynamic):
        # A dimension that another one determines may precede it.
        pending, dynamic = dynamic, []
        for dim, place in pending:
            unknown = [name for name in dim.parsed.names if name not in symbols]
            if len(unknown) == 1 and _is_linear(dim, unknown[0], symbols):
                (name,) = unknown
                symbols[name] = _invert(dim, name, symbols, place, places[place])
                origin[name] = place
            elif unknown:
                dynamic.append((dim, place))
            elif (expected := dim.parsed.evaluate(symbols)) != places[place]:
                raise misfit(_relation(dim, place, places, expected, origin))
    _check_equal(pending, places)
    known = {**places, **numbers}
    broken = broken_guard(guards, known)
    if broken is not None:
        found = ", ".join(f"{name} is {known[name]}" for name in broken.names)
        raise misfit(f"the program is valid only for {broken}, but {found}")
    return symbols


def _check_equal(undetermined: Sequence[tuple[Dim, str]], places: Mapping[str, int]) -> None:
    """Checks that dimensions with the same expression have the same size."""
    first: dict[str, str] = {}
    for dim, place in undetermined:
        other = first.setdefault(dim.expression, place)
        if places[place] != places[other]:
            raise misfit(
                f"{place} is {places[place]}, but {other} is {places[other]}: they must be equal"
            )


def broken_guard(
    guards: Sequence[SizeExpression], values: Mapping[str, Any]
) -> SizeExpression | None:
    """Returns the first guard that `values` (sizes by place, numbers by name) do not satisfy."""
    for guard in guards:
        if all(name in values for name in guard.names) and not _holds(guard, values):
            return guard
    return None


def _holds(guard: SizeExpression, values: Mapping[str, Any]) -> bool:
    try:
        return bool(guard.evaluate(values))
    except ZeroDivisionError:
        # It divides by a product of sizes, one of which is 0.
        return False


def _is_linear(dim: Dim, symbol: str, known: Mapping[str, int]) -> bool:
    first, second, third = (dim.parsed.evaluate({**known, symbol: value}) for value in (0, 1, 2))
    return second - first == third - second != 0


def _invert(dim: Dim, symbol: str, known: Mapping[str, int], place: str, size: int) -> int:
    """Returns the value of `symbol` at which `dim`, which is linear in it, has size `size`."""
    offset, one = (dim.parsed.evaluate({**known, symbol: value}) for value in (0, 1))
    value, rest = divmod(size - offset, one - offset)
    if rest:
        raise misfit(f"{place} is {size}, but must be {dim.expression} for an integer {symbol}")
    return value


def _relation(
    dim: Dim, place: str, places: Mapping[str, int], expected: int, origin: Mapping[str, str]
) -> str:
    known = ", ".join(f"{origin[name]} is {places[origin[name]]}" for name in dim.parsed.names)
    if dim.expression in origin:
        return f"{place} is {places[place]}, but {known}: they must be equal"
    return f"{place} is {places[place]}, expected {expected} ({dim.expression}, where {known})"
