"""Rearranges packed weights once for all entry points, when a program is loaded.

`packed_products.py` rearranges packed weights in each function that multiplies with them. Here, the
rearranged tensors become weights of the program, and are kept like these. IREE could compute them
in its packer, but compiling some hundred operations that run once takes as long as compiling the
program.
"""

from __future__ import annotations

from dataclasses import replace

from torch_mlir import ir

from pipelines.ir.modules import entry_function, find_operations
from pipelines.rearranged import Rearranged
from unmess.core.module.module import Module
from unmess.core.signature.signature import Argument, TensorSpec


def take_lanes(module: Module) -> tuple[Module, tuple[Rearranged, ...]]:
    """Replaces packs of weights by further weights.

    Packs of other tensors stay. Changes the IR in place.

    Returns:
        The module with new arguments, whose tensors are not in its `weights`; and these arguments.
    """
    with module.ir.context:
        taken = _Taken(module)
        for pack in find_operations(module.ir, _has_lanes):
            taken.take(pack)
        if not taken.rearranged:
            return module, ()
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


class _Taken:
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
        value, offsets, sizes = _whole(pack.operands[0])
        view = tuple(ir.RankedTensorType(value.type).shape)
        if not isinstance(value.owner, ir.Block) and value.owner.name == "tensor.expand_shape":
            value = value.owner.operands[0]
        if value not in self._weights:
            return
        entry, weight = self._weights[value]
        shape = tuple(ir.RankedTensorType(pack.result.type).shape)
        made = Rearranged("", weight.name, view, offsets, sizes, shape)
        if made not in self.rearranged:
            stem, _, last = weight.name.rpartition(".")
            # It does not contain the name of the weight, which `unpacked_names` looks for.
            self.rearranged[made] = replace(made, name=f"{stem}$lanes{len(self.rearranged)}.{last}")
        name = self.rearranged[made].name
        arguments = self._arguments[entry]
        if name not in arguments:
            block = self._functions[entry].entry_block
            given = block.add_argument(pack.result.type, ir.Location.name(name))
            spec = TensorSpec(shape, weight.spec.dtype)
            arguments[name] = Argument("weight", name, spec), given
        pack.result.replace_all_uses_with(arguments[name][1])
        pack.erase()

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


def _whole(value: ir.Value) -> tuple[ir.Value, tuple[int, ...], tuple[int, ...]]:
    """Returns the tensor of a slice, and the slice's offsets and sizes along each axis.

    A value that is no slice, or whose strides are not 1, is all of a tensor.
    """
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.name == "tensor.extract_slice":
        names = ("static_offsets", "static_sizes", "static_strides")
        offsets, sizes, strides = (tuple(owner.attributes[name]) for name in names)
        if len(owner.operands) == 1 and set(strides) == {1}:
            return owner.operands[0], offsets, sizes
    shape = tuple(ir.RankedTensorType(value.type).shape)
    return value, (0,) * len(shape), shape
