"""Rearranges packed weights once for all entry points of a module.

`packed_products.py` rearranges packed weights in each function that multiplies with them. IREE
computes these tensors when the program is loaded, once for each function, and keeps all of them.
Here, one initializer computes each distinct tensor, and the functions load it.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import func

from pipelines.ir.modules import find_operations
from pipelines.pipeline import Step

_LOAD = "util.global.load"


def share_lanes(module: ir.Module) -> None:
    """Moves packs of weights to initializers, in a module of `with_parameters`, in place.

    Packs of other tensors, such as slices of weights, stay.
    """
    with module.context, ir.Location.unknown():
        weights = _weights(module)
        rearranged = _Rearranged(module)
        for pack in find_operations(module, lambda each: each.name == "linalg.pack"):
            weight = weights.get(pack.operands[0])
            if weight is not None:
                with ir.InsertionPoint(pack):
                    load = rearranged.load(weight, pack)
                pack.result.replace_all_uses_with(load)
                pack.erase()


def _weights(module: ir.Module) -> dict[ir.Value, str]:
    """Returns the arguments of functions that callers load from globals, and these globals."""
    functions = {each.name.value: each for each in module.body if isinstance(each, func.FuncOp)}
    found = {}
    for call in find_operations(module, lambda each: each.name == "func.call"):
        callee = functions[ir.FlatSymbolRefAttr(call.attributes["callee"]).value]
        for operand, argument in zip(call.operands, callee.arguments, strict=True):
            if not isinstance(operand.owner, ir.Block) and operand.owner.name == _LOAD:
                found[argument] = ir.FlatSymbolRefAttr(operand.owner.attributes["global"]).value
    return found


class _Rearranged:
    """The globals that hold rearranged weights."""

    def __init__(self, module: ir.Module):
        self._module = module
        # By weight and type.
        self._names: dict[tuple[str, str], str] = {}

    def load(self, weight: str, pack: ir.Operation) -> ir.Value:
        """Loads the result of a pack of a weight, at the insertion point."""
        key = weight, str(pack.result.type)
        if key not in self._names:
            self._names[key] = f"{weight}$lanes{len(self._names)}"
            self._declare(self._names[key], weight, pack)
        return _load(self._names[key], pack.result.type)

    def _declare(self, name: str, weight: str, pack: ir.Operation) -> None:
        """Inserts a global and its initializer after the globals of the weights."""
        first = next(each for each in self._module.body if isinstance(each, func.FuncOp))
        with ir.InsertionPoint(first):
            ir.Operation.create(
                "util.global",
                attributes={
                    "sym_name": ir.StringAttr.get(name),
                    "sym_visibility": ir.StringAttr.get("private"),
                    "type": ir.TypeAttr.get(pack.result.type),
                },
            )
            initializer = ir.Operation.create(
                "util.initializer",
                attributes={"function_type": ir.TypeAttr.get(ir.FunctionType.get([], []))},
                regions=1,
            )
        with ir.InsertionPoint(initializer.regions[0].blocks.append()):
            operands = _load(weight, pack.operands[0].type), pack.operands[1].owner.clone().result
            copy = pack.clone().operation
            for position, operand in enumerate(operands):
                copy.operands[position] = operand
            ir.Operation.create(
                "util.global.store",
                operands=[copy.result],
                attributes={"global": ir.FlatSymbolRefAttr.get(name)},
            )
            ir.Operation.create("util.return")


def _load(name: str, kind: ir.Type) -> ir.Value:
    return ir.Operation.create(
        _LOAD, results=[kind], attributes={"global": ir.FlatSymbolRefAttr.get(name)}
    ).result


SHARE_LANES = Step(
    "iree-share-lanes",
    "rearrange packed weights once for all entry points",
    share_lanes,
)
