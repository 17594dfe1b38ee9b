"""Compares the dynamic sizes of a captured program with the declared ones, and names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy
import torch
from torch._guards import detect_fake_mode
from torch.export.dynamic_shapes import _DimHint, _DimHintType
from torch.export.graph_signature import InputKind
from torch.fx.experimental.symbolic_shapes import ShapeGuard
from torch.utils._sympy.printers import PythonPrinter

from importers.capture.call_inputs import Axis
from importers.capture.dynamic_shapes import Declared, with_input_names
from unmess.core.errors.error import Error
from unmess.core.program.note import Note
from unmess.core.signature.signature import Signature, TensorSpec
from unmess.core.signature.size_expression import Dim, SizeExpression

# Folders with the code of decompositions, PyTorch's and this project's.
_DECOMPOSITIONS = ("_decomp/", "importers/")


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


def all_guards(exported: torch.export.ExportedProgram) -> list[ShapeGuard]:
    """Returns the guards on size symbols so far, those of torch.export and of later traces."""
    mode = detect_fake_mode([node.meta.get("val") for node in exported.graph.nodes])
    return [] if mode is None or mode.shape_env is None else list(mode.shape_env.guards)


def with_relations(
    signature: Signature,
    exported: torch.export.ExportedProgram,
    axes: Sequence[Axis],
    added: Iterable[ShapeGuard] = (),
) -> tuple[Signature, list[Note]]:
    """Adds the user's size names and guards to a signature.

    The guards are those of the capture, of `squeeze` and of decompositions.

    Args:
        exported: the result of torch.export. Decomposition loses the guards.
        axes: the dimensions declared dynamic.
        added: the guards since torch.export, of `all_guards`.

    Returns:
        The signature, and notes on the dynamic sizes and on guards that cannot be checked.
    """
    guards, left_out = _guards(signature, exported)
    places = _places(signature, exported)
    others = list(_guards_of_squeeze(exported, places))
    for text in _guards_of_decompositions(added, places):
        try:
            others.append(SizeExpression(text))
        except ValueError:
            left_out.append(text)
    guards += tuple(dict.fromkeys(each for each in others if each not in guards))
    signature = replace(_renamed(signature, _names(exported, axes)), guards=guards)
    notes = [Note("guard", f"not checked before a call: {text}") for text in left_out]
    summary = _summary(signature)
    if summary:
        notes.insert(0, Note("dynamic", summary))
    return signature, notes


def _names(exported: torch.export.ExportedProgram, axes: Sequence[Axis]) -> dict[str, str]:
    """Maps PyTorch's names of size symbols to the user's names."""
    values = _input_values(exported)
    names: dict[str, str] = {}
    for axis in axes:
        size = values[axis.leaf].shape[axis.axis]
        symbols = size.node.expr.free_symbols if isinstance(size, torch.SymInt) else ()
        if axis.root is not None and len(symbols) == 1:
            (symbol,) = symbols
            if axis.root.__name__ not in names.values():
                names.setdefault(str(symbol), axis.root.__name__)
    return names


def _input_values(exported: torch.export.ExportedProgram) -> list[Any]:
    """Returns the values of the example call's leaves: fake tensors, numbers, or None."""
    values = {node.name: node.meta.get("val") for node in exported.graph.nodes}
    return [
        values.get(getattr(spec.arg, "name", None))
        for spec in exported.graph_signature.input_specs
        if spec.kind == InputKind.USER_INPUT
    ]


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
        text = with_input_names(code)
        try:
            guard = SizeExpression(text)
        except ValueError:
            left_out.append(code)
            continue
        known = all(name.split(".shape")[0] in names for name in guard.names)
        guards.append(guard) if known else left_out.append(code)
    return tuple(guards), left_out


def _places(signature: Signature, exported: torch.export.ExportedProgram) -> dict[str, str]:
    """Maps PyTorch's names of size symbols to dimensions: `s0` to `x.shape[1]`."""
    places: dict[str, str] = {}
    for leaf, value in zip(signature.inputs, _input_values(exported), strict=True):
        if isinstance(value, torch.Tensor):
            for axis, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and size.node.expr.is_symbol:
                    places.setdefault(str(size.node.expr), f"{leaf.name}.shape[{axis}]")
    return places


def _guards_of_squeeze(
    exported: torch.export.ExportedProgram, places: Mapping[str, str]
) -> Iterator[SizeExpression]:
    """Yields a guard for each dynamic size that `squeeze` would remove if it were 1.

    The captured program keeps the dimension, because its ranks are static.
    """
    for node in exported.graph.nodes:
        for size in _squeezed_sizes(node):
            text = _in_places(size.node.expr, str(size.node.expr), places)
            if text is not None:
                yield SizeExpression(f"{text} != 1")


def _guards_of_decompositions(
    added: Iterable[ShapeGuard], places: Mapping[str, str]
) -> Iterator[str]:
    """Yields the guards of decompositions that do not hold for all sizes of at least 2.

    PyTorch's decomposition of pooling to a given size, for example, may require that the size
    divides that of the image, as in the example. Other guards of a trace are about strides, which
    values in MLIR do not have. Programs are valid for sizes of 1, although PyTorch's traces exclude
    them.
    """
    for guard in added:
        if not any(folder in str(guard.sloc) for folder in _DECOMPOSITIONS):
            continue
        expression = guard.expr
        atoms = expression.free_symbols
        larger = {atom: 2 + sympy.Dummy(integer=True, nonnegative=True) for atom in atoms}
        if expression.xreplace(larger) is sympy.true:
            continue
        text = _in_places(expression, PythonPrinter().doprint(expression), places)
        # Guards on numbers that depend on data are assertions of the program.
        if text is not None:
            yield text


def _in_places(expression: sympy.Basic, text: str, places: Mapping[str, str]) -> str | None:
    """Returns the text of an expression with dimensions in place of symbols.

    Returns None if a symbol is not the size of a dimension.
    """
    if not {str(symbol) for symbol in expression.free_symbols} <= places.keys():
        return None
    return re.sub(r"\w+", lambda word: places.get(word[0], word[0]), text)


def _squeezed_sizes(node: torch.fx.Node) -> list[torch.SymInt]:
    if getattr(node.target, "overloadpacket", None) is not torch.ops.aten.squeeze:
        return []
    shape = node.args[0].meta["val"].shape
    dims = node.args[1] if len(node.args) > 1 else range(len(shape))
    dims = [dims] if isinstance(dims, int) else dims
    # `squeeze` accepts the dimensions 0 and -1 of a tensor without dimensions, and removes nothing.
    dims = dims if shape else ()
    return [shape[dim] for dim in dims if isinstance(shape[dim], torch.SymInt)]


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
