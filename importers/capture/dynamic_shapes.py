"""Converts the dynamic dimensions that a user declares to those of torch.export."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._dynamo.exc import UserError
from torch.export import Dim as ExportDim
from torch.export.dynamic_shapes import (
    _DerivedDim,
    refine_dynamic_shapes_from_suggested_fixes,
)
from torch.utils._sympy.numbers import int_oo

from importers.capture.call_inputs import Axis, CallInputs
from unmess.core.errors.error import Error, first_line
from unmess.core.options.dynamic_axis import parse_dynamic
from unmess.core.program.note import Note
from unmess.core.program.strides import resized

# Sizes that PyTorch always treats as constants.
_SPECIALIZED = (0, 1)
_SOURCE = re.compile(r"\bL(?P<path>(?:\[[^\]]+\])+)(?:\.size\(\)\[(?P<axis>\d+)\])?")
_FIX = re.compile(r"^\s*(?P<name>\w+) = (?P<value>.+?)\s*$", re.MULTILINE)


class Conflict(Exception):
    """The model contradicts the declared dimensions; `problem` is PyTorch's exception."""

    def __init__(self, problem: UserError):
        super().__init__(str(problem))
        self.problem = problem


def conflict(problem: BaseException) -> Conflict | None:
    """Returns a failure of torch.export as a Conflict, or None for other failures."""
    if isinstance(problem, UserError) and "Constraints violated" in str(problem):
        return Conflict(problem)
    return None


@dataclass(frozen=True)
class Declared:
    """The declared dynamic dimensions of a call.

    Attributes:
        args, kwargs: the example call, enlarged where a dynamic dimension had size 1.
        shapes: the `dynamic_shapes` for `torch.export.export`.
        axes: the dynamic dimensions.
        ranged: names of sizes that the user gave a range.
        notes: notes on enlarged inputs.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shapes: Any = None
    axes: tuple[Axis, ...] = ()
    ranged: frozenset[str] = frozenset()
    notes: tuple[Note, ...] = ()

    def refined(self, module: torch.nn.Module, found: Conflict) -> Declared:
        """Returns a copy with the ranges and relations that the model needs.

        Raises:
            Error: stage `capture`, if the model contradicts a range or size of the user.
        """
        suggested = str(found).partition("Suggested fixes:\n")[2].partition("\n\n")[0]
        fixes = dict(_FIX.findall(suggested))
        for axis in self.axes:
            fix = fixes.get(axis.root.__name__) if axis.root is not None else None
            if fix is not None and (fix.isdecimal() or axis.root.__name__ in self.ranged):
                raise _contradicted(axis, fix) from found.problem
        shapes = None
        if fixes:
            with contextlib.suppress(UserError, AssertionError, AttributeError, ValueError):
                shapes = refine_dynamic_shapes_from_suggested_fixes(
                    f"Suggested fixes:\n{suggested}", self.shapes
                )
        if shapes is None:
            raise Error(
                "capture",
                "the model does not accept the sizes that are declared dynamic: "
                f"{_violation(found)}",
                hint="make this size static, or declare it dynamic without a name and a range",
            ) from found.problem
        return replace(
            self, shapes=shapes, axes=CallInputs(module, self.args, self.kwargs).axes(shapes)
        )


def declare(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
) -> Declared:
    """Resolves `dynamic_shapes` for an example call.

    Args:
        dynamic_shapes: in the format of `torch.export.export`, or strings in that of `--dynamic`.

    Raises:
        Error: stage `usage`, if an input or axis does not exist, a range excludes the example, or
            two sizes with the same name differ in the example.
    """
    if not dynamic_shapes:
        return Declared(args, kwargs)
    try:
        inputs = CallInputs(module, args, kwargs)
        if isinstance(dynamic_shapes, (list, tuple)) and all(
            isinstance(text, str) for text in dynamic_shapes
        ):
            shapes = inputs.shapes(parse_dynamic(dynamic_shapes))
        elif hasattr(dynamic_shapes, "dynamic_shapes"):  # ShapesCollection, AdditionalInputs
            shapes = dynamic_shapes.dynamic_shapes(module, args, kwargs)
        else:
            shapes = dynamic_shapes
        axes = inputs.axes(shapes)
    except (UserError, ValueError, TypeError, AssertionError) as problem:
        raise Error(
            "usage",
            f"dynamic_shapes does not fit the call: {first_line(problem)}",
            hint="give it the structure of the arguments: ({0: batch}, None) or {'x': {0: batch}}",
        ) from problem
    roots = {axis.root for axis in axes if axis.root is not None}
    ranged = frozenset(root.__name__ for root in roots if (root.min, root.max) != (0, int_oo))
    return _enlarged(Declared(args, kwargs, shapes, axes, ranged), inputs)


def _enlarged(declared: Declared, inputs: CallInputs) -> Declared:
    """Enlarges dynamic sizes of the example that PyTorch would treat as constants.

    Raises:
        Error: stage `usage`, if the example does not match the declaration.
    """
    values: dict[ExportDim, tuple[int, Axis]] = {}
    sizes: dict[tuple[int, int], int] = {}
    for axis in declared.axes:
        size = inputs.leaves[axis.leaf].shape[axis.axis]
        value = size
        if axis.root is not None:
            offset, step = _linear(axis.dim)
            value, rest = divmod(size - offset, step)
            if rest:
                raise _no_example(axis, size, f"declared {axis.dim.__name__}")
            known, other = values.setdefault(axis.root, (value, axis))
            if known != value:
                name = axis.root.__name__
                raise Error(
                    "usage",
                    f"{name} is {known} in the example's {other.place}, {value} in {axis.place}",
                    hint="give dimensions that share a name consistent sizes",
                )
        low, high = _bounds(axis)
        specialized = value in _SPECIALIZED
        if (high is not None and value > high) or (value < low and not specialized):
            raise _no_example(axis, size, f"declared {low}..{'' if high is None else high}")
        if specialized:
            value = max(2, low)
            if size == 0 or (high is not None and value > high):
                raise _no_example(axis, size, "which PyTorch treats as a constant")
            sizes[axis.leaf, axis.axis] = value if axis.root is None else offset + step * value
    if not sizes:
        return declared
    leaves, notes = list(inputs.leaves), []
    for axis in declared.axes:
        place = (axis.leaf, axis.axis)
        if place in sizes:
            old = leaves[axis.leaf]
            shape = list(old.shape)
            shape[axis.axis] = sizes[place]
            leaves[axis.leaf] = resized(old.detach(), shape)
            notes.append(f"{axis.place} from {old.shape[axis.axis]} to {sizes[place]}")
    args, kwargs = inputs.call(leaves)
    text = f"enlarged, because PyTorch treats a size of 1 as a constant: {', '.join(notes)}"
    return replace(declared, args=args, kwargs=kwargs, notes=(Note("example", text),))


def _linear(dim: ExportDim) -> tuple[int, int]:
    """Returns the offset and step of a dimension as a linear function of its root."""
    if not isinstance(dim, _DerivedDim):
        return 0, 1
    return int(dim.fn(0)), int(dim.fn(1)) - int(dim.fn(0))


def _bounds(axis: Axis) -> tuple[int, int | None]:
    """Returns the declared range of the root, or of the dimension itself if it has no root."""
    holder = axis.dim if axis.root is None else axis.root
    high = None if holder.max is None or holder.max == int_oo else int(holder.max)
    return int(holder.min or 0), high


def _no_example(axis: Axis, size: int, why: str) -> Error:
    return Error(
        "usage",
        f"the example's {axis.place} is {size}, {why}",
        hint="declare a range that includes the example's size, or give another example",
    )


def _contradicted(axis: Axis, fix: str) -> Error:
    """Returns the error for a named size that PyTorch's suggested fix contradicts."""
    name = axis.root.__name__
    if fix.isdecimal():
        return Error(
            "capture",
            f"{axis.place} was declared dynamic ({name}), but the model fixes it to {fix}",
            hint="leave it static, or change the model: TORCH_LOGS=dynamic shows where it is fixed",
        )
    takes = fix
    if fix.startswith("Dim("):
        low, high = (re.search(rf"{end}=(\d+)", fix) for end in ("min", "max"))
        takes = f"{low[1] if low else 2}..{high[1] if high else ''}"
    first, last = _bounds(axis)
    return Error(
        "capture",
        f"the model accepts {name} ({axis.place}) only as {takes}, but it is declared as "
        f"{first}..{'' if last is None else last}",
        hint=f"declare {takes}, or omit the range",
    )


def _violation(found: Conflict) -> str:
    """Returns PyTorch's first reason, with sizes in the user's terms."""
    lines = [line.strip() for line in str(found).splitlines()]
    text = next((line[2:] for line in lines if line.startswith("- ")), lines[0])
    return with_input_names(text.partition(". If you're using")[0])


def with_input_names(text: str) -> str:
    """Replaces PyTorch's names of sizes in a text: `L['x'].size()[1]` by `x.shape[1]`."""
    return _SOURCE.sub(_placed, text)


def _placed(source: re.Match) -> str:
    """Converts `L['x']['b'][0].size()[1]` to `x_b_0.shape[1]`, with the placeholder's name."""
    keys = re.findall(r"\['?(.*?)'?\]", source["path"])
    name = "_".join(re.sub(r"[^a-zA-Z0-9]", "_", key) for key in keys).lower()
    return name if source["axis"] is None else f"{name}.shape[{source['axis']}]"
