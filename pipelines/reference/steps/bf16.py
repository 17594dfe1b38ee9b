"""bf16 for LLVM: kept in integers of 16 bits, computed with in f32.

LLVM's legalizing of bf16 vectors ends the process for some widths on processors with bf16
instructions ("Do not know how to soft promote this operator's operand"), and takes vectors apart on
those without. Integers are legal everywhere, and subnormal numbers, of which the instructions make
zero, are kept.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import arith

from pipelines.debugging import step
from pipelines.ir_modules import find_operations
from pipelines.lazy_dialects import llvm

# These move bf16 numbers, or convert them: `arith-expand` makes integer arithmetic of extf and
# truncf.
_NO_ARITHMETIC = frozenset(
    f"arith.{name}" for name in ("constant", "select", "bitcast", "extf", "truncf")
)


def has_bf16(module: ir.Module) -> bool:
    """Whether any value of a module, at whatever stage, is of bf16."""
    return bool(find_operations(module, lambda operation: any(map(_is_of_bf16, _types(operation)))))


@step("reference-bf16-arithmetic")
def compute_in_f32(module: ir.Module) -> None:
    """Rounds after each operation, as eager does: excess precision would show in comparisons."""
    found = find_operations(module, _computes_in_bf16)
    with module.context:
        for operation in found:
            with operation.location:
                _compute_in_f32(operation)


@step("reference-bf16-bits")
def keep_in_integers(module: ir.Module) -> None:
    """Makes i16 of bf16 in the LLVM dialect, where nothing computes in bf16 any more."""
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
    with module.context, ir.Location.unknown():
        module.operation.walk(visit)
        for constant in constants:
            with ir.InsertionPoint.after(constant):
                bits = llvm.BitcastOp(as_integer(constant.result.type), constant.result)
            constant.result.replace_all_uses_except(bits.result, bits.operation)


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
