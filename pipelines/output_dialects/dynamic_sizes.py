"""Rewrites dynamic reshapes and broadcasts to forms that torch-mlir lowers to the output dialects.

- Reshapes with one dynamic size become a `view` with -1, the only supported form. The computation
  of the size is removed.
- Broadcasts are removed if the operand already has the sizes, or if another operand of an
  elementwise operation has them.
- Assertions that a size equals itself, which splits of dimensions create, are removed, because
  they have no lowering.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.torch_dynamic_sizes import has_strict_sizes, origin_of_size
from pipelines.ir.torch_operations import (
    integer_constant,
    rewrite,
    shape_of,
    sizes_of,
)
from pipelines.ir.values import producer_named

_RESHAPES = (
    "torch.aten.flatten.using_ints",
    "torch.aten.unflatten.int",
    "torch.aten.reshape",
    "torch.aten.view",
)
_BROADCASTS = ("torch.aten.broadcast_to", "torch.aten.expand")
_ELEMENTWISE = (
    "torch.aten.where.self",
    "torch.aten.maximum",
    "torch.aten.minimum",
    "torch.aten.logical_and",
    "torch.aten.logical_or",
    *(f"torch.aten.{op}.Tensor" for op in ("add", "sub", "mul", "div")),
    *(f"torch.aten.{op}.Tensor" for op in ("eq", "ne", "lt", "le", "gt", "ge")),
)
# Operations without side effects.
_NUMBERS = {
    "torch.prim.ListConstruct",
    "torch.aten.size.int",
    "torch.aten.numel",
    *(f"torch.aten.{op}.int" for op in ("eq", "add", "sub", "mul")),
}


def infer_reshape_sizes(module: ir.Module) -> None:
    """Rewrites a module at `torch` in place."""
    rewrite(module, dict.fromkeys(_RESHAPES, _view))
    rewrite(module, dict.fromkeys(_ELEMENTWISE, _take_narrower_operands))
    rewrite(module, dict.fromkeys(_BROADCASTS, _as_it_is))
    with module.context:
        for check in find_operations(module, lambda each: each.name == "torch.runtime.assert"):
            if _is_true(check.operands[0]):
                check.erase()
        unused = _NUMBERS | set(_BROADCASTS)
        for operation in reversed(find_operations(module, lambda each: each.name in unused)):
            if not any(list(result.uses) for result in operation.results):
                operation.erase()


def _view(operation: ir.Operation) -> ir.Value | None:
    kind = operation.results[0].type
    sizes = sizes_of(kind)
    if sizes.count(None) != 1 or 0 in sizes:
        return None
    sizes = [integer_constant(-1 if size is None else size) for size in sizes]
    shape = build_op("torch.prim.ListConstruct", "!torch.list<int>", *sizes)
    return build_op("torch.aten.view", kind, operation.operands[0], shape)


def _as_it_is(broadcast: ir.Operation) -> ir.Value | None:
    x = broadcast.operands[0]
    return x if x.type == broadcast.results[0].type and has_strict_sizes(broadcast) else None


def _is_true(condition: ir.Value) -> bool:
    """Returns whether a condition compares a size with itself."""
    equal = producer_named(condition, "torch.aten.eq.int")
    if equal is None:
        return False
    size, other = map(origin_of_size, equal.operands)
    return size is not None and size == other


def _take_narrower_operands(elementwise: ir.Operation) -> None:
    """Removes broadcasts of operands if another operand has the sizes of the result."""
    if not has_strict_sizes(elementwise):
        return
    shape = shape_of(elementwise.results[0].type)
    whole = [
        index
        for index, operand in enumerate(elementwise.operands)
        if shape_of(operand.type) == shape and not _is_broadcast(operand)
    ]
    for index, operand in enumerate(elementwise.operands):
        if whole and "?" in str(operand.type) and _is_broadcast(operand):
            elementwise.operands[index] = operand.owner.operands[0]


def _is_broadcast(value: ir.Value) -> bool:
    return producer_named(value, *_BROADCASTS) is not None
