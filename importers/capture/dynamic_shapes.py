"""Converts declared dynamic dimensions for torch.export, and checks the captured ones."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._dynamo.exc import UserError
from torch.export import Dim as ExportDim
from torch.export.dynamic_shapes import (
    _combine_args,
    _DerivedDim,
    _DimHint,
    _DimHintType,
    _tree_map_with_path,
    refine_dynamic_shapes_from_suggested_fixes,
)
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree
from torch.utils._sympy.numbers import int_oo

from unmess.core.errors.error import Error, first_line
from unmess.core.options.dynamic_axis import DynamicAxis, parse_dynamic
from unmess.core.program.note import Note
from unmess.core.program.resize import resized
from unmess.core.signature.dim import Dim
from unmess.core.signature.signature import Signature, TensorSpec
from unmess.core.signature.size_expression import SizeExpression

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
class Axis:
    """A dimension declared dynamic.

    Attributes:
        leaf: the position of the input among the leaves of the call.
        path: the input in the call, as a user writes it: `x`, `batch['images'][0]`.
        axis: the index of the dimension.
        dim: the declared `Dim` or hint.
    """

    leaf: int
    path: str
    axis: int
    dim: Any

    @property
    def place(self) -> str:
        """The size as it is shown to users: `x.shape[0]`."""
        return f"{self.path}.shape[{self.axis}]"

    @property
    def root(self) -> ExportDim | None:
        """The named size of the dimension; None if PyTorch infers it."""
        if isinstance(self.dim, _DimHint):
            return None
        return self.dim.root if isinstance(self.dim, _DerivedDim) else self.dim


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
            self, shapes=shapes, axes=_Inputs(module, self.args, self.kwargs).axes(shapes)
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
        inputs = _Inputs(module, args, kwargs)
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


class _Inputs:
    """The leaves of a call, with their paths."""

    def __init__(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self._module = module
        self.combined = _combine_args(module, args, kwargs)
        self.leaves, self._spec = pytree.tree_flatten((args, kwargs))
        self.paths = leaf_paths(module, self._spec)

    def call(self, leaves: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments of the call with other leaves."""
        return pytree.tree_unflatten(leaves, self._spec)

    def axes(self, shapes: Any) -> tuple[Axis, ...]:
        """Returns the dimensions that `shapes` makes dynamic."""
        combined = self.combined
        if isinstance(shapes, (tuple, list)):
            combined = type(shapes)(combined.values())
        # A tensor may be passed twice: each declaration takes its next position.
        places: dict[int, list[int]] = {}
        for index, leaf in enumerate(self.leaves):
            places.setdefault(id(leaf), []).append(index)
        axes = []

        def visit(_path: Any, value: Any, shape: Any) -> None:
            found = places[id(value)]
            leaf = found.pop(0) if len(found) > 1 else found[0]
            if not isinstance(shape, dict):
                shape = dict(enumerate(shape if isinstance(shape, (tuple, list)) else ()))
            for axis, dim in shape.items():
                if not isinstance(dim, (ExportDim, _DimHint)) or _is_static(dim):
                    continue
                self._check_axis(leaf, value, axis)
                axes.append(Axis(leaf, self.paths[leaf], axis, dim))

        _tree_map_with_path(visit, combined, shapes, tree_name="inputs")
        return tuple(axes)

    def shapes(self, axes: Sequence[DynamicAxis]) -> Any:
        """Converts parsed dimensions to the `dynamic_shapes` of torch.export."""
        roots: dict[str, ExportDim] = {}
        for axis in sorted(axes, key=lambda axis: (axis.min, axis.max) == (None, None)):
            if axis.name is not None and axis.name not in roots:
                roots[axis.name] = ExportDim(axis.name, min=axis.min, max=axis.max)
        by_leaf: dict[int, dict[int, Any]] = {}
        for axis in axes:
            for leaf in self._find(axis):
                if axis.name is None:
                    dim = ExportDim.DYNAMIC(min=axis.min, max=axis.max)
                else:
                    root = roots[axis.name]
                    dim = root if axis.factor == 1 else axis.factor * root
                by_leaf.setdefault(leaf, {})[axis.axis] = dim
        args, kwargs = self.call([_Shape(by_leaf.get(index)) for index in range(len(self.leaves))])
        return {
            name: pytree.tree_map_only(_Shape, lambda shape: shape.axes, tree)
            for name, tree in _combine_args(self._module, args, kwargs).items()
        }

    def _find(self, axis: DynamicAxis) -> list[int]:
        """Returns the indices of the leaves that a parsed dimension refers to."""
        if axis.input == "*":
            found = [
                index
                for index, leaf in enumerate(self.leaves)
                if isinstance(leaf, torch.Tensor) and leaf.dim() > axis.axis
            ]
            if not found:
                raise Error(
                    "usage",
                    f"{axis.text!r}: no input has an axis {axis.axis}",
                    hint=f"axes count from 0; the call has {self._shown()}",
                )
            return found
        names = {_dotted(path): index for index, path in enumerate(self.paths)}
        first, *rest = axis.input.split(".")
        if first.isdecimal() and int(first) < len(self.combined):
            first = [*self.combined][int(first)]
        leaf = names.get(".".join([first, *rest]))
        if leaf is None:
            raise Error(
                "usage",
                f"{axis.text!r}: the call has no input {axis.input!r}",
                hint=f"it has {self._shown()}",
            )
        self._check_axis(leaf, self.leaves[leaf], axis.axis, axis.text)
        return [leaf]

    def _check_axis(self, leaf: int, value: Any, axis: Any, text: str | None = None) -> None:
        place = f"{self.paths[leaf]} (in {text!r})" if text else self.paths[leaf]
        if not isinstance(value, torch.Tensor):
            raise Error(
                "usage",
                f"{place} is a {type(value).__name__}, which has no axes",
                hint=f"the call has {self._shown()}",
            )
        if not isinstance(axis, int) or not 0 <= axis < value.dim():
            shape = "x".join(map(str, value.shape)) or "a scalar"
            raise Error(
                "usage",
                f"{place} has no axis {axis}: its example is {shape}",
                hint="axes count from 0",
            )

    def _shown(self) -> str:
        """Lists the tensors of the call with their shapes, named as in `--dynamic`."""
        return ", ".join(
            f"{_dotted(path)} ({'x'.join(map(str, leaf.shape)) or 'a scalar'})"
            for path, leaf in zip(self.paths, self.leaves, strict=True)
            if isinstance(leaf, torch.Tensor)
        )


@dataclass(frozen=True)
class _Shape:
    """A leaf of `dynamic_shapes` that pytree functions do not descend into."""

    axes: dict[int, Any] | None


def leaf_paths(module: Any, in_spec: pytree.TreeSpec) -> list[str]:
    """Returns the path of each leaf of a call, in the callee's terms: `x`, `batch['images'][0]`."""
    count = in_spec.num_leaves
    args, kwargs = pytree.tree_unflatten(list(range(count)), in_spec)
    found, _ = pytree.tree_flatten_with_path(dict(_combine_args(module, args, kwargs)))
    paths = [""] * count
    for (first, *rest), index in found:
        paths[index] = f"{first.key}{pytree.keystr(tuple(rest))}"
    return paths


def _dotted(path: str) -> str:
    """Converts `batch['images'][0]` to `batch.images.0`."""
    return re.sub(r"\[['\"]?(.*?)['\"]?\]", r".\1", path)


def _is_static(dim: Any) -> bool:
    return isinstance(dim, _DimHint) and dim.type == _DimHintType.STATIC


def _enlarged(declared: Declared, inputs: _Inputs) -> Declared:
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
    return _SOURCE.sub(_placed, text.partition(". If you're using")[0])


def check_dynamic(signature: Signature, declared: Declared) -> list[Note]:
    """Returns notes on `Dim.AUTO` dimensions that PyTorch made static.

    Raises:
        Error: stage `capture`, if any other declared dimension is static.
    """
    notes = []
    for axis in declared.axes:
        spec = signature.inputs[axis.leaf].spec
        size = spec.shape[axis.axis] if isinstance(spec, TensorSpec) else None
        if isinstance(size, Dim):
            continue
        if not (isinstance(axis.dim, _DimHint) and axis.dim.type == _DimHintType.AUTO):
            raise Error(
                "capture",
                f"{axis.place} was declared dynamic, but the capture fixed it to {size}",
                hint="leave it static, or try --strategy non-strict, which reports the reason",
            )
        notes.append(Note("specialized", f"the model fixes {axis.place} (Dim.AUTO) to {size}"))
    return notes


def with_relations(
    signature: Signature, exported: torch.export.ExportedProgram, axes: Sequence[Axis]
) -> tuple[Signature, list[Note]]:
    """Adds the user's size names and the guards of the capture to a signature.

    Args:
        exported: the result of torch.export. Decomposition loses the guards.
        axes: the dimensions declared dynamic.

    Returns:
        The signature, and notes on the dynamic sizes and on guards that cannot be checked.
    """
    guards, left_out = _guards(signature, exported)
    signature = replace(_renamed(signature, _names(exported, axes)), guards=guards)
    notes = [Note("guard", f"not checked before a call: {text}") for text in left_out]
    summary = _summary(signature)
    if summary:
        notes.insert(0, Note("dynamic", summary))
    return signature, notes


def _names(exported: torch.export.ExportedProgram, axes: Sequence[Axis]) -> dict[str, str]:
    """Maps PyTorch's names of size symbols to the user's names."""
    values = {node.name: node.meta.get("val") for node in exported.graph.nodes}
    inputs = [
        spec.arg.name
        for spec in exported.graph_signature.input_specs
        if spec.kind == InputKind.USER_INPUT
    ]
    names: dict[str, str] = {}
    for axis in axes:
        size = values[inputs[axis.leaf]].shape[axis.axis]
        symbols = size.node.expr.free_symbols if isinstance(size, torch.SymInt) else ()
        if axis.root is not None and len(symbols) == 1:
            (symbol,) = symbols
            if axis.root.__name__ not in names.values():
                names.setdefault(str(symbol), axis.root.__name__)
    return names


def _renamed(signature: Signature, names: Mapping[str, str]) -> Signature:
    def spec(old: Any) -> Any:
        if not isinstance(old, TensorSpec):
            return old
        return replace(old, shape=tuple(map(size, old.shape)))

    def size(old: int | Dim) -> int | Dim:
        if not isinstance(old, Dim):
            return old
        text = re.sub(r"\w+", lambda word: names.get(word[0], word[0]), old.expression)
        return replace(old, expression=text)

    def each(items: tuple) -> tuple:
        return tuple(replace(item, spec=spec(item.spec)) for item in items)

    return replace(
        signature,
        inputs=each(signature.inputs),
        arguments=each(signature.arguments),
        results=each(signature.results),
    )


def _guards(
    signature: Signature, exported: torch.export.ExportedProgram
) -> tuple[tuple[SizeExpression, ...], list[str]]:
    """Returns the guards on sizes and numbers of the call, and those that cannot be expressed."""
    names = {leaf.name for leaf in signature.inputs}
    guards, left_out = [], []
    for code in getattr(exported, "_guards_code", None) or ():
        text = _SOURCE.sub(_placed, code)
        try:
            guard = SizeExpression(text)
        except ValueError:
            left_out.append(code)
            continue
        known = all(name.split(".shape")[0] in names for name in guard.names)
        guards.append(guard) if known else left_out.append(code)
    return tuple(guards), left_out


def _placed(source: re.Match) -> str:
    """Converts `L['x']['b'][0].size()[1]` to `x_b_0.shape[1]`, with the placeholder's name."""
    keys = re.findall(r"\['?(.*?)'?\]", source["path"])
    name = "_".join(re.sub(r"[^a-zA-Z0-9]", "_", key) for key in keys).lower()
    return name if source["axis"] is None else f"{name}.shape[{source['axis']}]"


def _summary(signature: Signature) -> str:
    """Lists the dynamic sizes of the call with their dimensions and ranges, in one line."""
    places: dict[Dim, list[str]] = {}
    for name, dims in signature.dynamic_inputs().items():
        for axis, dim in enumerate(dims):
            if isinstance(dim, Dim):
                places.setdefault(dim, []).append(f"{name}.shape[{axis}]")
    return "; ".join(
        f"{' = '.join([dim.expression, *where])}, {dim.range}" for dim, where in places.items()
    )
