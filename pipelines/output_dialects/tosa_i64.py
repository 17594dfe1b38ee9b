"""Computes sums, differences and negations of i64 in i64 at TOSA; torch-mlir uses i32."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.torch_expressions import cast, literal
from pipelines.ir.torch_operations import (
    builtin_type,
    element_of,
    from_builtin,
    integer_constant,
    is_tensor,
    load_dialects,
    number_of,
    rewrite,
    shape_of,
    sizes_of,
    to_builtin,
)

_OPERATIONS = {
    "torch.aten.add.Tensor": "tosa.add",
    "torch.aten.add.Scalar": "tosa.add",
    "torch.aten.sub.Tensor": "tosa.sub",
    "torch.aten.sub.Scalar": "tosa.sub",
}
_NEGATION = "torch.aten.neg"


def keep_i64_sums(module: ir.Module) -> None:
    """Rewrites operators on i64 in a module at `torch`, in place."""
    if find_operations(module, lambda each: each.name in (*_OPERATIONS, _NEGATION)):
        load_dialects(module, "convert-torch-to-tosa")
    rewrite(module, {**dict.fromkeys(_OPERATIONS, _sum), _NEGATION: _negation})


def _negation(operation: ir.Operation) -> ir.Value | None:
    (x,) = operation.operands
    if element_of(x.type) != "si64":
        return None
    return _computed("tosa.sub", literal(0, "si64"), x, operation.result.type)


def _sum(operation: ir.Operation) -> ir.Value | None:
    x, y, factor = operation.operands
    kind = operation.result.type
    if element_of(kind) != "si64" or number_of(factor) is None:
        return None
    if not is_tensor(y):
        if number_of(y) is None:
            return None
        y = literal(number_of(y), "si64")
    x, y = _as_i64(x), _as_i64(y)
    if number_of(factor) != 1:
        y = build_op("torch.aten.mul.Scalar", y.type, y, factor)
    return _computed(_OPERATIONS[operation.name], x, y, kind)


def _computed(name: str, x: ir.Value, y: ir.Value, kind: ir.Type) -> ir.Value:
    rank = len(sizes_of(kind))
    operands = (to_builtin(_with_rank(each, rank)) for each in (x, y))
    return from_builtin(build_op(name, builtin_type(kind), *operands), kind)


def _as_i64(x: ir.Value) -> ir.Value:
    return x if element_of(x.type) == "si64" else cast(x, "si64")


def _with_rank(x: ir.Value, rank: int) -> ir.Value:
    """Adds axes of size 1 at the front; TOSA requires operands of equal rank."""
    for _ in range(rank - len(sizes_of(x.type))):
        sizes = shape_of(x.type).partition("[")[2].rstrip("]")
        kind = f"!torch.vtensor<[{','.join(filter(None, ['1', sizes]))}],si64>"
        x = build_op("torch.aten.unsqueeze", kind, x, integer_constant(0))
    return x
