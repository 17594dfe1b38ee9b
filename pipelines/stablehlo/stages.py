"""Pipeline steps that prepare StableHLO of other tools for the other pipelines."""

from __future__ import annotations

from dataclasses import replace

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.output_dialects.to_scf import to_scf
from pipelines.pipeline import Pipeline, Step
from pipelines.stablehlo.bodies import rewrite_scalar_tensors
from pipelines.stablehlo.casts import preserve_special_values, saturate_casts
from pipelines.stablehlo.custom_calls import resolve_at_compile, resolve_at_linalg
from pipelines.stablehlo.dynamic import lower_dynamic_sizes
from pipelines.stablehlo.gather import clamp_gathers
from pipelines.stablehlo.origin import is_foreign
from pipelines.stablehlo.scatter import scatters_to_loops
from pipelines.stablehlo.sort import sorts_to_tm_tensor

COMPOSITES = Step(
    "func.func(stablehlo-legalize-composite-to-call)", "replace composites by calls of their bodies"
)
CALLS = Step("inline", "inline calls of private functions")
UNUSED = Step("symbol-dce", "remove unused private functions")
CHLO = Step("func.func(chlo-legalize-to-stablehlo)", "lower CHLO operations to StableHLO")
CASTS = Step(
    "stablehlo-saturating-casts",
    "saturate casts of out-of-range floats to integers, in programs of other tools",
    saturate_casts,
)
CUSTOM_CALLS = Step(
    "stablehlo-custom-calls",
    "remove annotations, lower shape assertions to cf.assert, and reject other custom calls",
    resolve_at_linalg,
)
DYNAMIC = Step(
    "stablehlo-dynamic-sizes",
    "lower gathers and operations with dynamic sizes to linalg, in programs of other tools",
    lower_dynamic_sizes,
)
SORTS = Step("stablehlo-sorts", "lower sorts to tm_tensor.sort", sorts_to_tm_tensor)
SCATTERS = Step("stablehlo-scatters", "lower scatters to loops over the updates", scatters_to_loops)
CONTROL_FLOW = Step("control-flow-to-scf", "lower loops and branches to scf", to_scf)
GATHERS = Step(
    "stablehlo-clamped-gathers",
    "clamp indices of gathers, in programs of other tools; IREE does not do it",
    clamp_gathers,
)

SCALARS = Step(
    "stablehlo-scalars",
    "replace operations on 0-D tensors by operations on scalars",
    rewrite_scalar_tensors,
)
SPECIAL_VALUES = Step(
    "stablehlo-special-values",
    "keep the sign of zeros, and the cube root of infinity, in programs of other tools",
    preserve_special_values,
)

# Steps on the way to linalg, before the upstream pass.
TO_LINALG_FIRST = (
    COMPOSITES,
    CUSTOM_CALLS,
    CALLS,
    UNUSED,
    CHLO,
    CASTS,
    SPECIAL_VALUES,
    DYNAMIC,
    SORTS,
    SCATTERS,
    CONTROL_FLOW,
)

FOREIGN_INPUT = Pipeline(
    name="stablehlo-of-other-tools",
    stage="compile",
    hint="the IR is valid StableHLO, but IREE cannot compile it: try --on reference",
    steps=(
        COMPOSITES,
        replace(CUSTOM_CALLS, function=resolve_at_compile),
        CALLS,
        UNUSED,
        CHLO,
        CASTS,
        GATHERS,
        SPECIAL_VALUES,
    ),
)


def for_iree(module: ir.Module, name: str) -> None:
    """Prepares a program of another tool with static sizes for IREE's own input, in place."""
    FOREIGN_INPUT.apply(module, name)


def needs_linalg(module: ir.Module) -> bool:
    """Returns whether IREE needs a program as linalg.

    This holds for products of integers that were converted from unsigned ones: IREE's compiler
    removes the conversion, and multiplies the bits as signed integers. It holds for weights of
    unsigned integers, which the compiler does not load. It holds for sorts: the compiled program
    sorts an argument of the call in place, and the compiler makes a top-k of a sort and a slice,
    and fails if the indices are 64-bit integers. It holds for programs of other tools with dynamic
    sizes, and for loops in programs of unmess: the compiler fails for loops that update rows,
    unless the steps for linalg rewrite them.
    """
    if find_operations(module, _is_product_of_integers) and find_operations(module, _is_unsigned):
        return True
    if find_operations(module, _has_unsigned_weight):
        return True
    if find_operations(module, lambda each: each.name == "stablehlo.sort"):
        return True
    return bool(find_operations(module, _is_dynamic if is_foreign(module) else _is_loop))


def _is_product_of_integers(operation: ir.Operation) -> bool:
    return operation.name in ("stablehlo.dot_general", "stablehlo.convolution") and isinstance(
        ir.RankedTensorType(operation.result.type).element_type, ir.IntegerType
    )


def _is_unsigned(operation: ir.Operation) -> bool:
    """Returns whether an operation converts unsigned integers."""
    if operation.name != "stablehlo.convert":
        return False
    return _is_tensor_of_unsigned(operation.operands[0].type)


def _has_unsigned_weight(operation: ir.Operation) -> bool:
    """Returns whether a function takes weights of unsigned integers."""
    if operation.name != "func.func" or "arg_attrs" not in operation.attributes:
        return False
    kinds = ir.FunctionType(ir.TypeAttr(operation.attributes["function_type"]).value).inputs
    return any(
        "unmess.weight" in about and _is_tensor_of_unsigned(kind)
        for about, kind in zip(operation.attributes["arg_attrs"], kinds, strict=True)
    )


def _is_tensor_of_unsigned(kind: ir.Type) -> bool:
    if not isinstance(kind, ir.RankedTensorType):
        return False
    element_type = kind.element_type
    return isinstance(element_type, ir.IntegerType) and element_type.is_unsigned


def _is_loop(operation: ir.Operation) -> bool:
    return operation.name == "stablehlo.while"


def _is_dynamic(operation: ir.Operation) -> bool:
    return any(
        isinstance(each.type, ir.RankedTensorType) and not each.type.has_static_shape
        for each in operation.results
    )
