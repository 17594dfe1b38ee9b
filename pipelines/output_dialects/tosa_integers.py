"""Handles unsigned integers and comparisons of booleans, which TOSA does not have.

TOSA's i8 is signed, so torch-mlir's lowering interprets `uint8` as -128 to 127, and orders True as
-1. Conversions from `uint8` and `uint16` are rewritten to keep the values. Computation with these
types, and ordering of booleans, are errors.
"""

from __future__ import annotations

import re

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.torch_operations import (
    builtin_type,
    element_of,
    from_builtin,
    integer_constant,
    is_float,
    load_dialects,
    shape_of,
)
from pipelines.ir.values import producer_named
from pipelines.output_dialects.unsigned_constants import return_builtin_tensors
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

_LITERAL = "torch.vtensor.literal"
_CONVERSION = "torch.aten.to.dtype"
# PyTorch's number of the dtype.
_INT32 = 3
_BYTES = re.compile(r"!torch\.vtensor<\[[^]]*\],ui(8|16)>")
_BOOLEANS = re.compile(r"!torch\.vtensor<\[[^]]*\],i1>")
# Operators that only move elements, or test them for equality.
_MOVES = re.compile(
    r"torch\.(aten\.(view|reshape|permute|transpose|t|expand|expand_as|slice|select|cat|stack|flip"
    r"|clone|contiguous|squeeze|unsqueeze|flatten|unflatten|broadcast_to|repeat|tile|index_select"
    r"|gather|detach|alias|numpy_T|as_strided|copy|eq|ne|size|numel|dim|constant_pad_nd)\b.*"
    r"|prim\..*|vtensor\.literal|overwrite.*|copy\..*|derefine|runtime\..*)"
)
_ORDERS = re.compile(
    r"torch\.aten\.(maximum|minimum|max|min|amax|amin|lt|le|gt|ge|sort|topk|argmax|argmin|clamp"
    r"|cummax|cummin|argsort|aminmax)\b.*"
)


def keep_uint8_values(module: ir.Module) -> None:
    """Rewrites conversions of unsigned integers in a module at `torch`.

    Raises:
        Error: stage `tosa`, if an operator computes with unsigned integers or orders booleans.
    """
    with module.context:
        for operation in find_operations(module, lambda each: each.name.startswith("torch.")):
            _check(operation)
        for conversion in find_operations(module, lambda each: each.name == _CONVERSION):
            if match := _BYTES.fullmatch(str(conversion.operands[0].type)):
                with ir.InsertionPoint(conversion), conversion.location:
                    conversion.operands[0] = _value(conversion, int(match[1]))
        _sign_literals(module)
    return_builtin_tensors(module)


def _wider_literal(literal: ir.Operation, kind: ir.Type) -> ir.Value:
    """Returns the values of a literal of unsigned integers as i32."""
    # Imported here, because the import takes 0.13 s.
    import numpy as np

    numbers = np.array(ir.DenseElementsAttr(literal.attributes["value"])).astype(np.int32)
    signed = ir.IntegerType.get_signed(32)
    values = ir.DenseElementsAttr.get(numbers, type=signed)
    return build_op(_LITERAL, kind, value=values)


def _sign_literals(module: ir.Module) -> None:
    """Replaces literals of unsigned integers by constants of TOSA with the same bits."""
    # Imported here, because the import takes 0.13 s.
    import numpy as np

    literals = find_operations(module, _is_unsigned_literal)
    if literals:
        load_dialects(module, "convert-torch-to-tosa")
    for literal in literals:
        kind = ir.RankedTensorType(ir.Type.parse(builtin_type(literal.result.type)))
        numbers = np.array(ir.DenseElementsAttr(literal.attributes["value"]))
        signed = numbers.view(numbers.dtype.name.removeprefix("u"))
        values = ir.DenseElementsAttr.get(signed, type=kind)
        with ir.InsertionPoint(literal), literal.location:
            constant = build_op("tosa.const", kind, values=values)
            literal.result.replace_all_uses_with(from_builtin(constant, literal.result.type))
        literal.erase()


def _is_unsigned_literal(operation: ir.Operation) -> bool:
    return operation.name == _LITERAL and element_of(operation.result.type).startswith("ui")


def _check(operation: ir.Operation) -> None:
    operands = [str(operand.type) for operand in operation.operands]
    results = [str(result.type) for result in operation.results]
    if _ORDERS.fullmatch(operation.name) and any(map(_BOOLEANS.fullmatch, operands)):
        problem = "of booleans, which TOSA cannot order"
    elif _MOVES.fullmatch(operation.name) or _drops_bits(operation):
        return
    elif any(map(_BYTES.fullmatch, results)) or (
        operation.name != _CONVERSION and any(map(_BYTES.fullmatch, operands))
    ):
        problem = "of unsigned integers, which TOSA does not have"
    else:
        return
    raise Error(
        "tosa",
        f"{operation.name.removeprefix('torch.')} {problem}",
        where=location_line(operation.location),
        hint="convert them to int32 first, or try --to linalg",
    )


def _drops_bits(operation: ir.Operation) -> bool:
    """Returns whether an operation converts integers: it keeps their bits, or the lowest ones."""
    return operation.name == _CONVERSION and not is_float(operation.operands[0].type)


def _value(conversion: ir.Operation, bits: int) -> ir.Value:
    """Returns the operand of a conversion as i32: sign-extended, then masked to its `bits`."""
    x, _, *rest = conversion.operands
    kind = ir.Type.parse(f"{shape_of(x.type)},si32>")
    if literal := producer_named(x, _LITERAL):
        return _wider_literal(literal, kind)
    signed = build_op(_CONVERSION, kind, x, integer_constant(_INT32), *rest)
    mask = integer_constant(2**bits - 1)
    return build_op("torch.aten.bitwise_and.Scalar", kind, signed, mask)
