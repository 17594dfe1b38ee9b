"""Finds programs at TOSA and StableHLO that IREE's own lowering does not compile correctly.

unmess lowers such programs to linalg, and its steps for IREE replace what IREE compiles wrongly.
"""

from __future__ import annotations

from collections.abc import Collection

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.ir.modules import find_operations
from pipelines.iree.constant_operands import reads_constants
from pipelines.linalg_form.float8 import converts_float8
from pipelines.stablehlo.origin import is_foreign
from unmess.core.module.module import Module

# TOSA has no assertion, so these are checked at linalg.
_TOSA_ACCESSES = ("tosa.gather", "tosa.scatter")
# IREE does not lower a branch in a branch.
_TOSA_BRANCHES = ("tosa.cond_if",)
# IREE returns infinity for the sine and cosine of large numbers.
_TRIGONOMETRY = ("tosa.sin", "tosa.cos", "stablehlo.sine", "stablehlo.cosine", "stablehlo.tan")
# In f64, IREE's runtime lacks these functions, or computes them wrongly for special values.
_F64_FUNCTIONS = (
    "stablehlo.atan2",
    "stablehlo.exponential_minus_one",
    "stablehlo.log_plus_one",
    "stablehlo.power",
    "stablehlo.remainder",
    "stablehlo.tanh",
)


def needs_linalg(module: Module, *, unchecked: bool) -> bool:
    """Returns whether IREE needs a program at TOSA or StableHLO as linalg.

    Args:
        unchecked: whether checks of indices and assertions are omitted.
    """
    return (
        reads_constants(module.ir)
        or converts_float8(module.ir)
        or _contains(module.ir, _TRIGONOMETRY)
        or (
            _tosa_needs_linalg(module.ir, unchecked=unchecked)
            if module.stage == "tosa"
            else _stablehlo_needs_linalg(module.ir)
        )
    )


def _tosa_needs_linalg(module: ir.Module, *, unchecked: bool) -> bool:
    """Returns whether IREE needs a program at TOSA as linalg.

    This holds for dynamic sizes: calls with other sizes than 1 fail, because a transient buffer has
    not been committed.
    """
    return (
        bool(find_operations(module, _is_dynamic))
        or _contains(module, _TOSA_BRANCHES)
        or (_contains(module, _TOSA_ACCESSES) and not unchecked)
        or not _is_valid_tosa(module)
    )


def _is_valid_tosa(module: ir.Module) -> bool:
    """Returns whether all operations have types of TOSA's profiles and extensions.

    IREE's lowering starts with the same pass. f64 and casts of floats to i64 fail, for example.
    """
    with module.context as context:
        silenced = context.attach_diagnostic_handler(lambda diagnostic: True)
        try:
            PassManager.parse("builtin.module(tosa-validate)").run(module.operation)
        except ir.MLIRError:
            return False
        finally:
            silenced.detach()
    return True


def _stablehlo_needs_linalg(module: ir.Module) -> bool:
    """Returns whether IREE needs a program at StableHLO as linalg.

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
    if find_operations(module, _has_unsigned_weight) or _contains(module, ("stablehlo.sort",)):
        return True
    if find_operations(module, _is_f64_function):
        return True
    return bool(find_operations(module, _is_dynamic if is_foreign(module) else _is_loop))


def _contains(module: ir.Module, names: Collection[str]) -> bool:
    return bool(find_operations(module, lambda operation: operation.name in names))


def _is_f64_function(operation: ir.Operation) -> bool:
    return operation.name in _F64_FUNCTIONS and (
        ir.RankedTensorType(operation.result.type).element_type == ir.F64Type.get()
    )


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
