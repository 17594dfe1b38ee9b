"""Keeps the seed of random numbers as a number, where torch-mlir keeps a tensor.

IREE reads the tensor back from the device before each random operator: four dropouts of 1,024
elements take 84 µs in place of 49. It does not compile a program that stores the tensor if the
global is below the function, as in `hf:informer`: "failed to legalize operation
'util.global.store'".
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.values import producer
from pipelines.pipeline import Step

_LOAD, _STORE = "ml_program.global_load", "ml_program.global_store"


def keep_seeds_as_numbers(module: ir.Module) -> None:
    """Rewrites each global tensor without dimensions to a number, in place.

    Globals that the program uses in another way than torch-mlir's seed do not change.
    """
    with module.context:
        for variable in find_operations(module, lambda each: each.name == "ml_program.global"):
            _rewrite(variable, module)


def _rewrite(variable: ir.Operation, module: ir.Module) -> None:
    kind = ir.TypeAttr(variable.attributes["type"]).value
    if not isinstance(kind, ir.RankedTensorType) or kind.rank:
        return
    loads, stores = (_accesses(module, name, variable) for name in (_LOAD, _STORE))
    insertions = [producer(store.operands[0]) for store in stores]
    users = [use.owner for load in loads for use in load.result.uses]
    if not all(_is_extraction(user) or _is_stored_only(user) for user in users):
        return
    if not all(map(_is_stored_only, insertions)):
        return
    element = kind.element_type
    for store, insertion in zip(stores, insertions, strict=True):
        with ir.InsertionPoint(store), store.location:
            attributes = {"global": store.attributes["global"]}
            ir.Operation.create(_STORE, [], [insertion.operands[0]], attributes)
        store.erase()
        insertion.erase()
    for load in loads:
        with ir.InsertionPoint(load), load.location:
            number = build_op(_LOAD, element, **{"global": load.attributes["global"]})
        for extraction in [use.owner for use in load.result.uses]:
            extraction.results[0].replace_all_uses_with(number)
            extraction.erase()
        load.erase()
    variable.attributes["type"] = ir.TypeAttr.get(element)
    value = ir.DenseElementsAttr(variable.attributes["value"])
    variable.attributes["value"] = value.get_splat_value()


def _accesses(module: ir.Module, name: str, variable: ir.Operation) -> list[ir.Operation]:
    symbol = f"@{ir.StringAttr(variable.attributes['sym_name']).value}"
    return find_operations(
        module, lambda each: each.name == name and str(each.attributes["global"]) == symbol
    )


def _is_extraction(user: ir.Operation) -> bool:
    return user.name == "tensor.extract"


def _is_stored_only(insertion: ir.Operation | None) -> bool:
    """Returns whether an operation is an insertion whose tensor is stored, and not read."""
    if insertion is None or insertion.name != "tensor.insert":
        return False
    return all(use.owner.name == _STORE for use in insertion.results[0].uses)


KEEP_SEEDS_AS_NUMBERS = Step(
    "iree-seeds-as-numbers",
    "keep the seed of random numbers as a number: IREE reads a tensor back from the device, and "
    "does not compile some programs that store it",
    keep_seeds_as_numbers,
)
