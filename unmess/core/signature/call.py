"""Checks whether a call fits a program, without PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unmess.core.errors.error import Error

if TYPE_CHECKING:
    from unmess.core.signature.size_expression import Dim


def arrange(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    count: int,
    keywords: Sequence[str],
    names: Sequence[str] | None,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a call in the form that was captured.

    Args:
        count: number of arguments that were captured by position.
        keywords: names of the other arguments, in order.
        names: the positional parameters of the model's `forward`, if known. A call may then pass
            by name what the capture passed by position, and the other way round.

    Raises:
        Error: stage `run`; arguments are missing, or there are extra ones.
    """
    if len(args) == count and set(kwargs) == set(keywords):
        return args, {key: kwargs[key] for key in keywords}
    expected = ", ".join([*(names or ["…"] * count)[:count], *(f"{key}=" for key in keywords)])
    given = ", ".join([*["…"] * len(args), *(f"{key}=" for key in kwargs)])
    problem = misfit(f"the call ({given}) does not match the captured call ({expected})")
    if names is None or len(args) > len(names) or count > len(names):
        raise problem
    by_name = dict(zip(names, args, strict=False))
    if by_name.keys() & kwargs.keys():
        raise problem
    by_name |= kwargs
    wanted = [*names[:count], *keywords]
    surplus = [key for key in by_name if key not in wanted and by_name[key] is not None]
    if surplus or any(key not in by_name for key in wanted):
        raise problem
    return tuple(by_name[key] for key in names[:count]), {key: by_name[key] for key in keywords}


def check_constant(name: str, expected: Any, value: Any) -> None:
    """Raises an Error (`run`) if a value differs from the one that the capture fixed."""
    # Only NaN is not equal to itself.
    both_nan = value != value and expected != expected
    if type(value) is not type(expected) or (value != expected and not both_nan):
        raise misfit(f"{name} is {value!r}, but the capture fixed it to {expected!r}")


def shape_misfit(
    name: str, declared: Sequence[int | Dim], shape: Sequence[int], spec: object
) -> str | None:
    """Describes why a shape does not fit; None if it does. `spec` is the declared shape as text."""
    if len(shape) != len(declared):
        return f"{name} has rank {len(shape)}, expected {len(declared)} ({spec})"
    for index, (size, dim) in enumerate(zip(shape, declared, strict=True)):
        where = f"{name}.shape[{index}]"
        if not isinstance(dim, int):
            if not dim.holds(size):
                return f"{where} is {size}, expected {dim.range}"
        elif size != dim:
            return f"{where} is {size}, expected {dim}"
    return None


def stride_misfit(
    name: str, declared: Sequence[int | None], shape: Sequence[int], strides: Sequence[int]
) -> str | None:
    """Describes how the strides of a tensor differ from the declared ones; None if they do not.

    Args:
        declared: in elements; None where they are not compared.
        shape: of the tensor. Strides of dimensions of size 1 are not compared.
        strides: of the tensor, in elements.
    """
    if all(
        size == 1 or expected is None or stride == expected
        for size, stride, expected in zip(shape, strides, declared, strict=True)
    ):
        return None
    return (
        f"{name} has strides {tuple(strides)}, expected {tuple(declared)}: the model reads its "
        "memory with as_strided"
    )


def misfit(cause: str) -> Error:
    """Returns the Error for a call that does not fit."""
    return Error(
        "run",
        cause,
        hint="call the program like the captured call, or capture the model with these arguments",
    )
