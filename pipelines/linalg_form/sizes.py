"""Fixes sizes of dynamic dimensions in a module at `linalg`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import torch
from torch.utils import _pytree as pytree
from torch_mlir import ir

from pipelines.ir.modules import entry_function
from pipelines.ir.values import terminator
from pipelines.linalg_form.propagation import PROPAGATE, shape_of
from unmess.core.errors.error import Error
from unmess.core.module.module import Module
from unmess.core.options.names import did_you_mean
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs
from unmess.core.program.recorded import Recorded
from unmess.core.program.strides import resized
from unmess.core.signature.signature import ScalarSpec, Signature, TensorSpec
from unmess.core.signature.size_expression import Dim


def set_sizes(module: Module, sizes: Mapping[str, int]) -> Module:
    """Fixes dynamic dimensions of all entry functions, in place. Returns the changed module.

    The example call gets the new sizes. If only its recorded result is known, and at other sizes,
    the module has no example call any more.

    Args:
        sizes: by the names of the dynamic dimensions.

    Raises:
        Error: stage `usage`; a name is unknown, or a size is out of range.
    """
    _check_names(module.entries, sizes)
    entries = {name: _fixed(each, sizes) for name, each in module.entries.items()}
    with module.ir.context, ir.Location.unknown():
        for name, signature in entries.items():
            _set_types(entry_function(module.ir, name), signature)
    PROPAGATE.apply(module.ir, module.name)
    return replace(
        module,
        entries=entries,
        signature=entries[module.entry],
        program=_resized_program(module.program, sizes, entries),
    )


def _check_names(entries: Mapping[str, Signature], sizes: Mapping[str, int]) -> None:
    names = list(
        dict.fromkeys(
            name
            for signature in entries.values()
            for dim in _dims(signature)
            for name in dim.parsed.names
        )
    )
    for name in sizes:
        if name not in names:
            listed = f"its dynamic dimensions are {', '.join(names)}"
            raise Error(
                "usage",
                f"the program has no dynamic dimension {name!r}",
                hint=did_you_mean(name, names, listed if names else "it has no dynamic dimensions"),
            )


def _dims(signature: Signature) -> Iterator[Dim]:
    """Yields the dynamic dimensions of the inputs."""
    for shape in signature.dynamic_inputs().values():
        yield from (size for size in shape if isinstance(size, Dim))


def _fixed(signature: Signature, sizes: Mapping[str, int]) -> Signature:
    """Returns a signature with these sizes.

    Raises:
        Error: stage `usage`; a size is out of range, or a guard does not hold.
    """
    for leaf in signature.inputs:
        for axis, size in enumerate(leaf.spec.shape if isinstance(leaf.spec, TensorSpec) else ()):
            if not isinstance(size, Dim):
                continue
            now = _size(size, sizes)
            if isinstance(now, int) and not size.holds(now):
                chosen = ", ".join(f"{name}={sizes[name]}" for name in size.parsed.names)
                raise Error(
                    "usage",
                    f"{chosen} is out of range: {leaf.name}.shape[{axis}] would be {now}, but "
                    f"is {size.range}",
                    hint="choose a size in the range, or capture the model with another range",
                )
    inputs = tuple(replace(leaf, spec=_spec(leaf.spec, sizes)) for leaf in signature.inputs)
    places = {
        f"{leaf.name}.shape[{axis}]": size
        for leaf in inputs
        if isinstance(leaf.spec, TensorSpec)
        for axis, size in enumerate(leaf.spec.shape)
        if isinstance(size, int)
    }
    for guard in signature.guards:
        if all(name in places for name in guard.names) and not guard.evaluate(places):
            chosen = ", ".join(f"{name}={size}" for name, size in sizes.items())
            raise Error(
                "usage",
                f"{chosen} is out of range: the program is valid only for {guard}",
                hint="choose sizes for which this holds",
            )
    return replace(
        signature,
        inputs=inputs,
        arguments=tuple(
            replace(each, spec=_spec(each.spec, sizes)) for each in signature.arguments
        ),
        results=tuple(replace(each, spec=_spec(each.spec, sizes)) for each in signature.results),
    )


def _spec(spec: object, sizes: Mapping[str, int]) -> object:
    if not isinstance(spec, TensorSpec):
        return spec
    return replace(
        spec,
        shape=tuple(_size(size, sizes) if isinstance(size, Dim) else size for size in spec.shape),
    )


def _size(dim: Dim, sizes: Mapping[str, int]) -> int | Dim:
    """Returns the size of a dimension, or the dimension in terms of the names that are left."""
    names = dim.parsed.names
    if all(name in sizes for name in names):
        return int(dim.parsed.evaluate(sizes))
    text = re.sub(r"[A-Za-z_]\w*", lambda match: str(sizes.get(match[0], match[0])), dim.expression)
    return replace(dim, expression=text)


def _set_types(function: ir.OpView, signature: Signature) -> None:
    """Gives the arguments and results of an entry function the sizes of its signature."""
    block = function.regions[0].blocks[0]
    for argument, declared in zip(block.arguments, signature.arguments, strict=True):
        old, new = argument.type, _type(argument.type, declared.spec)
        if new == old:
            continue
        with ir.InsertionPoint.at_block_begin(block):
            # Its result has the old type, so that it can replace the argument for all other users.
            cast = ir.Operation.create("tensor.cast", [old], [argument])
        argument.replace_all_uses_except(cast.result, cast)
        argument.set_type(new)
    returned = terminator(block)
    for index, declared in enumerate(signature.results):
        value = returned.operands[index]
        new = _type(value.type, declared.spec)
        if new != value.type:
            with ir.InsertionPoint(returned):
                returned.operands[index] = ir.Operation.create("tensor.cast", [new], [value]).result
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(
            [argument.type for argument in block.arguments],
            [value.type for value in returned.operands],
        )
    )


def _type(kind: ir.Type, spec: TensorSpec | ScalarSpec) -> ir.Type:
    """Returns a tensor type with the fixed sizes of a shape; other types as they are."""
    if not isinstance(kind, ir.RankedTensorType) or not isinstance(spec, TensorSpec):
        return kind
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [
        size if old == dynamic and isinstance(size, int) else old
        for old, size in zip(shape_of(kind), spec.shape, strict=True)
    ]
    return ir.RankedTensorType.get(shape, kind.element_type, kind.encoding)


def _resized_program(
    program: Program | Programs | None, sizes: Mapping[str, int], entries: Mapping[str, Signature]
) -> Program | Programs | None:
    """Returns a program whose example calls have these sizes; None if one has no result there."""
    if program is None:
        return None
    if isinstance(program, Programs):
        parts = {
            name: _resized(each, sizes, entries[name]) for name, each in program.entries.items()
        }
        return None if None in parts.values() else replace(program, entries=parts)
    return _resized(program, sizes, next(iter(entries.values())))


def _resized(program: Program, sizes: Mapping[str, int], fixed: Signature) -> Program | None:
    signature = program.signature
    values = signature.flatten_call(program.args, program.kwargs)
    example = signature.symbols(program.args, program.kwargs)
    numbers = {n: value for n, value in values.items() if not isinstance(value, torch.Tensor)}
    wanted = example | {name: size for name, size in sizes.items() if name in example}
    if wanted == example:
        return replace(program, signature=fixed)
    shapes = signature.shapes(wanted, numbers)
    if shapes is None or isinstance(program.eager, Recorded):
        return None
    leaves, spec = pytree.tree_flatten((program.args, program.kwargs))
    changed = [
        resized(leaf.detach(), shapes[own.name]) if own.name in shapes else leaf
        for own, leaf in zip(signature.inputs, leaves, strict=True)
    ]
    args, kwargs = pytree.tree_unflatten(changed, spec)
    return replace(program, signature=fixed, args=args, kwargs=kwargs)
