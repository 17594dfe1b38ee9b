"""Rewrites StableHLO to operations that a portable artifact may have: StableHLO's and func's.

The lowering to StableHLO computes dynamic sizes with the dialects arith, shape and tensor, which
make no promise of compatibility between versions.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.ir.values import constant_integer, producer, producer_named
from pipelines.pipeline import Pipeline, Step
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

_ARITHMETIC = {
    "arith.addi": "stablehlo.add",
    "arith.subi": "stablehlo.subtract",
    "arith.muli": "stablehlo.multiply",
    # Sizes are not negative, so the signed operations give the same results.
    "arith.divui": "stablehlo.divide",
    "arith.divsi": "stablehlo.divide",
    "arith.remui": "stablehlo.remainder",
    "arith.remsi": "stablehlo.remainder",
    "arith.minsi": "stablehlo.minimum",
    "arith.minui": "stablehlo.minimum",
    "arith.maxsi": "stablehlo.maximum",
    "arith.maxui": "stablehlo.maximum",
}
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")
_ALLOWED = ("func", "stablehlo")


def rewrite_size_vectors(module: ir.Module) -> None:
    """Rewrites each `tensor.from_elements` of integers, and what computes them, to StableHLO."""
    with module.context:
        vectors = find_operations(module, lambda each: each.name == "tensor.from_elements")
        replace_operations(vectors, _size_vector)


def _size_vector(vector: ir.Operation) -> ir.Value | None:
    kind = ir.RankedTensorType(vector.results[0].type)
    if not isinstance(kind.element_type, ir.IntegerType) or kind.rank > 1:
        return None
    elements = [_scalar(value) for value in vector.operands]
    return None if any(element is None for element in elements) else _packed(elements, kind)


def rewrite_constants(module: ir.Module) -> None:
    """Replaces `arith.constant` of tensors by `stablehlo.constant`."""
    with module.context:
        constants = find_operations(module, _is_constant_tensor)
        replace_operations(
            constants,
            lambda each: build_op(
                "stablehlo.constant", each.results[0].type, value=each.attributes["value"]
            ),
        )


def _is_constant_tensor(operation: ir.Operation) -> bool:
    is_constant = operation.name == "arith.constant"
    return is_constant and isinstance(operation.results[0].type, ir.RankedTensorType)


def refuse_other_dialects(module: ir.Module) -> None:
    """Raises an Error if an operation is left that is not StableHLO's or func's."""
    found = find_operations(
        module,
        lambda each: each.name != "builtin.module" and each.name.split(".")[0] not in _ALLOWED,
    )
    if found:
        names = ", ".join(dict.fromkeys(operation.name for operation in found))
        raise Error(
            "stablehlo",
            f"a portable artifact cannot have {names}",
            where=next((line for each in found if (line := location_line(each.location))), None),
            hint="import without --portable, or with fixed sizes",
        )


PORTABLE = Pipeline(
    name="portable-stablehlo",
    stage="stablehlo",
    hint="import without --portable, or with fixed sizes",
    steps=(
        Step(
            "portable-size-vectors",
            "compute the sizes of reshapes with StableHLO",
            rewrite_size_vectors,
        ),
        Step(
            "func.func(remove-shape-constraints)",
            "remove constraints on broadcasts, which were checked at the capture",
        ),
        Step("func.func(canonicalize)", "remove assumptions that nothing checks, and unused sizes"),
        Step("func.func(shape-legalize-to-stablehlo)", "lower shape computations to StableHLO"),
        Step("func.func(canonicalize)", "fold sizes"),
        Step(
            "portable-constants",
            "replace constants of arith by those of StableHLO",
            rewrite_constants,
        ),
        Step(
            "portable-only-stablehlo",
            "reject operations of other dialects",
            refuse_other_dialects,
        ),
    ),
)


def _scalar(value: ir.Value) -> ir.Value | None:
    """Returns a 0-D tensor with the integer `value`, of i64 for an index; None if unsupported."""
    operation = producer(value)
    if operation is None:
        return None
    is_index = isinstance(value.type, ir.IndexType)
    element = ir.IntegerType.get_signless(64) if is_index else value.type
    kind = ir.RankedTensorType.get([], element)
    if operation.name == "arith.constant":
        number = ir.IntegerAttr(operation.attributes["value"]).value
        return _constant(number, kind)
    if operation.name == "tensor.dim":
        return _dimension(operation, kind)
    if operation.name == "shape.num_elements":
        return _number_of_elements(operation.operands[0], kind)
    if operation.name not in _ARITHMETIC and operation.name not in _CASTS:
        return None
    operands = [_scalar(operand) for operand in operation.operands]
    if any(operand is None for operand in operands):
        return None
    if operation.name in _CASTS and operands[0].type == kind:
        return operands[0]
    return build_op(_ARITHMETIC.get(operation.name, "stablehlo.convert"), kind, *operands)


def _dimension(operation: ir.Operation, kind: ir.RankedTensorType) -> ir.Value | None:
    tensor, axis = operation.operands
    known = constant_integer(axis)
    return None if known is None else _size(tensor, known, kind)


def _number_of_elements(shape: ir.Value, kind: ir.RankedTensorType) -> ir.Value | None:
    shape_of = producer_named(shape, "shape.shape_of")
    if shape_of is None:
        return None
    tensor = shape_of.operands[0]
    number = _constant(1, kind)
    for axis in range(ir.RankedTensorType(tensor.type).rank):
        number = build_op("stablehlo.multiply", kind, number, _size(tensor, axis, kind))
    return number


def _size(tensor: ir.Value, axis: int, kind: ir.RankedTensorType) -> ir.Value:
    source = ir.RankedTensorType(tensor.type)
    if not source.is_dynamic_dim(axis):
        return _constant(source.get_dim_size(axis), kind)
    i32 = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
    dimension = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), axis)
    size = build_op("stablehlo.get_dimension_size", i32, tensor, dimension=dimension)
    return build_op("stablehlo.convert", kind, size)


def _constant(number: int, kind: ir.RankedTensorType) -> ir.Value:
    element = ir.IntegerAttr.get(kind.element_type, number)
    value = ir.DenseElementsAttr.get_splat(kind, element)
    return build_op("stablehlo.constant", kind, value=value)


def _packed(elements: list[ir.Value], kind: ir.RankedTensorType) -> ir.Value:
    """Returns 0-D tensors as one tensor of type `kind`, of rank 0 or 1."""
    if kind.rank == 0:
        return elements[0]
    single = ir.RankedTensorType.get([1], kind.element_type)
    reshaped = [build_op("stablehlo.reshape", single, element) for element in elements]
    if len(reshaped) == 1:
        return reshaped[0]
    axis = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
    return build_op("stablehlo.concatenate", kind, *reshaped, dimension=axis)
