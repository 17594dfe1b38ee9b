"""Conversions between f64 and 16-bit floats, and arithmetic in bf16.

LLVM's legalization of bf16 vectors ends the process for some widths on processors with bf16
instructions ("Do not know how to soft promote this operator's operand"). On other processors it
scalarizes them. Integers are legal everywhere. They also keep subnormal numbers, which the bf16
instructions flush to zero.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, llvm
from pipelines.ir.modules import find_operations

# Operations that only move or convert bf16 numbers. `arith-expand` lowers extf and truncf to
# integer arithmetic.
_NO_ARITHMETIC = frozenset(
    f"arith.{name}" for name in ("constant", "select", "bitcast", "extf", "truncf")
)


def has_bf16(module: ir.Module) -> bool:
    """Returns whether a module, at any stage, has operands or results of bf16."""
    return bool(find_operations(module, lambda operation: any(map(_is_of_bf16, _types(operation)))))


def compute_in_f32(module: ir.Module) -> None:
    """Makes bf16 operations compute in f32.

    Rounds after each operation, as eager does. Excess precision would show in comparisons.
    """
    found = find_operations(module, _computes_in_bf16)
    with module.context:
        for operation in found:
            with operation.location:
                _compute_in_f32(operation)


def keep_in_integers(module: ir.Module) -> None:
    """Replaces the type bf16 with i16, except for operands of intrinsics.

    Takes the LLVM dialect, without arithmetic in bf16.
    """
    types: dict[ir.Type, ir.Type] = {}

    def as_integer(type: ir.Type) -> ir.Type:
        if type not in types:
            types[type] = ir.Type.parse(str(type).replace("bf16", "i16"))
        return types[type]

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "llvm.func":
            type = operation.attributes["function_type"]
            operation.attributes["function_type"] = ir.TypeAttr.get(as_integer(type.value))
        elif operation.name == "llvm.mlir.constant":
            if _is_of_bf16(operation.result.type):
                constants.append(operation)
            return ir.WalkResult.ADVANCE
        for region in operation.regions:
            for block in region:
                for argument in block.arguments:
                    argument.set_type(as_integer(argument.type))
        for result in operation.results:
            result.set_type(as_integer(result.type))
        return ir.WalkResult.ADVANCE

    constants: list[ir.Operation] = []
    intrinsics = [
        (operation, number, operand.type)
        for operation in find_operations(module, lambda each: each.name == "llvm.call_intrinsic")
        for number, operand in enumerate(operation.operands)
        if _is_of_bf16(operand.type)
    ]
    with module.context, ir.Location.unknown():
        module.operation.walk(visit)
        for constant in constants:
            with ir.InsertionPoint.after(constant):
                bits = llvm.BitcastOp(as_integer(constant.result.type), constant.result)
            constant.result.replace_all_uses_except(bits.result, bits.operation)
        for operation, number, type in intrinsics:
            with ir.InsertionPoint(operation):
                numbers = llvm.BitcastOp(type, operation.operands[number])
            operation.operands[number] = numbers.result


def _computes_in_bf16(operation: ir.Operation) -> bool:
    if not operation.name.startswith(("arith.", "math.")) or operation.name in _NO_ARITHMETIC:
        return False
    return any(map(_is_of_bf16, _types(operation)))


def _compute_in_f32(operation: ir.Operation) -> None:
    with ir.InsertionPoint(operation):
        for number, operand in enumerate(operation.operands):
            if _is_of_bf16(operand.type):
                wide = arith.ExtFOp(_in_f32(operand.type), operand)
                operation.operands[number] = wide.result
    for result in operation.results:
        if _is_of_bf16(result.type):
            narrow = result.type
            result.set_type(_in_f32(narrow))
            with ir.InsertionPoint.after(operation):
                rounded = arith.TruncFOp(narrow, result)
            result.replace_all_uses_except(rounded.result, rounded.operation)


def _types(operation: ir.Operation) -> list[ir.Type]:
    return [value.type for value in (*operation.operands, *operation.results)]


def _is_of_bf16(type: ir.Type) -> bool:
    return "bf16" in str(type)


def _in_f32(type: ir.Type) -> ir.Type:
    return ir.Type.parse(str(type).replace("bf16", "f32"))


_CONVERSIONS = ("arith.truncf", "arith.extf")


def narrow_through_f32(module: ir.Module) -> None:
    """Splits conversions between f64 and bf16 or f16 in two, in place.

    Eager rounds twice. Also, no library here has the function that LLVM calls for f64 to bf16.
    """
    with module.context:
        for operation in find_operations(module, _skips_f32):
            with operation.location, ir.InsertionPoint(operation):
                convert = arith.TruncFOp if operation.name == "arith.truncf" else arith.ExtFOp
                single = convert(ir.F32Type.get(), operation.operands[0])
                operation.operands[0] = single.result


def _skips_f32(operation: ir.Operation) -> bool:
    if operation.name not in _CONVERSIONS:
        return False
    types = operation.operands[0].type, operation.results[0].type
    return any(isinstance(type, ir.F64Type) for type in types) and any(
        isinstance(type, (ir.BF16Type, ir.F16Type)) for type in types
    )
