"""Makes entry functions take their operands from an array of addresses.

MLIR's own C interface passes the two pointers, the offset, and all sizes and strides of each
memref as separate arguments. A model has hundreds of weights, hence thousands of arguments. LLVM's
time is quadratic in their number: a third of the compile time of a Llama of 16 layers, half of
BERT-base's.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch_mlir import ir
from torch_mlir.dialects import builtin, func

from pipelines.ir.lazy_dialects import llvm
from pipelines.ir.modules import entry_function

_NO_FLAGS = 0


def take_operands_by_address(module: ir.Module, entries: Iterable[str]) -> None:
    """Changes entry functions on memrefs, in place.

    Their only argument is the address of an array of addresses. The first is of the structure for
    the results. The others are of the operands: memref descriptors, or numbers.
    """
    with module.context, ir.Location.unknown():
        for entry in entries:
            _change(entry_function(module, entry))


def _change(function: ir.OpView) -> None:
    blocks = function.regions[0].blocks
    block = blocks[0]
    pointer = ir.Type.parse("!llvm.ptr")
    old = list(block.arguments)
    array = block.add_argument(pointer, ir.Location.unknown())
    with ir.InsertionPoint.at_block_begin(block):
        for index, argument in enumerate(old):
            address = _load(pointer, _element(array, pointer, [index + 1]))
            kind = _lowered(argument.type)
            value = _load(kind, address)
            if kind != argument.type:
                value = builtin.UnrealizedConversionCastOp([argument.type], [value]).results[0]
            argument.replace_all_uses_with(value)
    for each in blocks:
        last = list(each.operations)[-1]
        if isinstance(last, func.ReturnOp):
            with ir.InsertionPoint(last), last.location:
                _store_results(array, list(last.operands))
                func.ReturnOp([])
            last.operation.erase()
    for _ in old:
        block.erase_argument(0)
    for attribute in ("arg_attrs", "res_attrs"):
        if attribute in function.attributes:
            del function.attributes[attribute]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([pointer], []))


def _store_results(array: ir.Value, results: list[ir.Value]) -> None:
    if not results:
        return
    types = [_lowered(result.type) for result in results]
    place = _load(array.type, array)
    structure = ir.Type.parse(f"!llvm.struct<({', '.join(map(str, types))})>")
    for index, (result, kind) in enumerate(zip(results, types, strict=True)):
        if kind != result.type:
            result = builtin.UnrealizedConversionCastOp([kind], [result]).results[0]
        llvm.StoreOp(result, _element(place, structure, [0, index]))


def _lowered(type: ir.Type) -> ir.Type:
    """Returns the LLVM type of a type. For a memref it is its descriptor."""
    if isinstance(type, ir.IndexType):
        return ir.IntegerType.get_signless(64)
    if not isinstance(type, ir.MemRefType):
        return type
    arrays = f", array<{type.rank} x i64>, array<{type.rank} x i64>" if type.rank else ""
    return ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{arrays})>")


def _element(base: ir.Value, type: ir.Type, indices: list[int]) -> ir.Value:
    attribute = ir.DenseI32ArrayAttr.get(indices)
    return llvm.GEPOp(base.type, base, [], attribute, ir.TypeAttr.get(type), _NO_FLAGS).result


def _load(type: ir.Type, address: ir.Value) -> ir.Value:
    return llvm.LoadOp(type, address).result
