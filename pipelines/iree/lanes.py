"""Rearranges packed weights once for all entry points, when a program is loaded.

`packed_products.py` rearranges packed weights in each function that multiplies with them. Here, the
rearranged tensors become weights of the program, and are stored like these. IREE could compute them
in its packer, but compiling some hundred operations that run once takes as long as compiling the
program. Lookups of single elements, such as those of an embedding that shares its weight with the
output layer, read the rearranged tensors too. So the program needs no other copy of these weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from torch_mlir import ir

from pipelines.ir.loops import Slice
from pipelines.ir.modules import build_op, entry_function, find_operations
from pipelines.ir.tensor_ops import reshaped
from pipelines.ir.values import producer_named
from pipelines.rearranged import Rearranged
from unmess.core.module.module import Module
from unmess.core.signature.signature import Argument, TensorSpec


def extract_rearranged_weights(module: Module) -> tuple[Module, tuple[Rearranged, ...]]:
    """Replaces packs of weights, and reads of their elements, by further weights.

    Packs of other tensors stay. Changes the IR in place.

    Returns:
        The module with new arguments, whose tensors are not in its `weights`; and these arguments.
    """
    with module.ir.context, ir.Location.unknown():
        taken = _RearrangedWeights(module)
        for pack in find_operations(module.ir, _has_lanes):
            taken.take(pack)
        if not taken.rearranged:
            return module, ()
        for read in find_operations(module.ir, lambda each: each.name == "tensor.extract"):
            taken.read(read)
        return taken.finished(), tuple(taken.rearranged.values())


def _has_lanes(operation: ir.Operation) -> bool:
    """Returns whether an operation moves some adjacent rows to the last axis, without padding."""
    if operation.name != "linalg.pack" or len(operation.operands) != 2:
        return False
    source, result = (ir.RankedTensorType(each.type) for each in operation.operands)
    return (
        list(operation.attributes["inner_dims_pos"]) == [0]
        and not list(operation.attributes["outer_dims_perm"])
        and source.has_static_shape
        and source.shape == [result.shape[0] * result.shape[-1], *result.shape[1:-1]]
    )


class _RearrangedWeights:
    """The rearranged weights of a module, and the arguments that stand for them."""

    def __init__(self, module: Module):
        self._module = module
        self._functions = {entry: entry_function(module.ir, entry) for entry in module.entries}
        self._weights: dict[ir.Value, tuple[str, Argument]] = {
            value: (entry, argument)
            for entry, signature in module.entries.items()
            for value, argument in zip(
                self._functions[entry].arguments, signature.arguments, strict=True
            )
            if argument.kind == "weight"
        }
        self.rearranged: dict[Rearranged, Rearranged] = {}
        self._arguments: dict[str, dict[str, tuple[Argument, ir.Value]]] = {
            entry: {} for entry in module.entries
        }

    def take(self, pack: ir.Operation) -> None:
        """Replaces a pack by an argument, if it rearranges a weight."""
        value, part = Slice.of(pack.operands[0])
        view = tuple(ir.RankedTensorType(value.type).shape)
        expansion = producer_named(value, "tensor.expand_shape")
        if expansion is not None:
            value = expansion.operands[0]
        if value not in self._weights:
            return
        entry, weight = self._weights[value]
        shape = tuple(ir.RankedTensorType(pack.result.type).shape)
        made = Rearranged("", weight.name, view, part.offsets, part.sizes, shape)
        if made not in self.rearranged:
            stem, _, last = weight.name.rpartition(".")
            # It must not contain the name of the weight: `unpacked_names` searches for that.
            self.rearranged[made] = replace(made, name=f"{stem}$lanes{len(self.rearranged)}.{last}")
        element = ir.RankedTensorType(value.type).element_type
        given = self._argument(entry, weight, self.rearranged[made], element)
        pack.result.replace_all_uses_with(given)
        pack.erase()

    def read(self, extract: ir.Operation) -> None:
        """Makes a `tensor.extract` read a rearranged weight instead of the weight, if there is one.

        Rearranged parts of a weight do not have all elements, so they are not read.
        """
        source = extract.operands[0]
        if source not in self._weights:
            return
        entry, weight = self._weights[source]
        alike = (each for each in self.rearranged.values() if each.weight == weight.name)
        made = next((each for each in alike if each.is_whole), None)
        if made is None:
            return
        value = self._argument(entry, weight, made, extract.result.type)
        with ir.InsertionPoint.at_block_begin(self._functions[entry].entry_block), extract.location:
            value = _with_axes(value, ir.RankedTensorType(source.type).shape[1:])
        row, *others = list(extract.operands)[1:]
        with ir.InsertionPoint(extract), extract.location:
            lanes = ir.IntegerAttr.get(row.type, made.shape[-1])
            count = build_op("arith.constant", row.type, value=lanes)
            group = build_op("arith.divui", row.type, row, count)
            lane = build_op("arith.remui", row.type, row, count)
            found = build_op("tensor.extract", extract.result.type, value, group, *others, lane)
        extract.result.replace_all_uses_with(found)
        extract.erase()

    def _argument(
        self, entry: str, weight: Argument, made: Rearranged, element: ir.Type
    ) -> ir.Value:
        """Returns a function's argument for a rearranged weight; adds it if it is missing."""
        arguments = self._arguments[entry]
        if made.name not in arguments:
            kind = ir.RankedTensorType.get(made.shape, element)
            block = self._functions[entry].entry_block
            given = block.add_argument(kind, ir.Location.name(made.name))
            spec = TensorSpec(made.shape, weight.spec.dtype)
            arguments[made.name] = Argument("weight", made.name, spec), given
        return arguments[made.name][1]

    def finished(self) -> Module:
        """Adds the arguments to the types of the functions; returns the module with them."""
        entries = {}
        for entry, signature in self._module.entries.items():
            function, new = self._functions[entry], self._arguments[entry]
            attributes = list(function.arg_attrs) if function.arg_attrs else []
            kinds = [argument.type for argument in function.arguments]
            function.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(kinds, function.type.results)
            )
            attributes += [ir.DictAttr.get({"unmess.weight": ir.StringAttr.get(n)}) for n in new]
            function.arg_attrs = attributes
            added = (argument for argument, _ in new.values())
            entries[entry] = replace(signature, arguments=(*signature.arguments, *added))
        return replace(self._module, entries=entries, signature=entries[self._module.entry])


def _with_axes(value: ir.Value, inner: Sequence[int]) -> ir.Value:
    """Reshapes a rearranged weight of (groups, …, lanes) so that it has these axes in between."""
    groups, *others, lanes = ir.RankedTensorType(value.type).shape
    if others == list(inner):
        return value
    shape = [groups, *inner, lanes]
    flat = reshaped("tensor.collapse_shape", value, [prod(shape)], [list(range(len(others) + 2))])
    return reshaped("tensor.expand_shape", flat, shape, [list(range(len(shape)))])
