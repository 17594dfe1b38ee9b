"""Passes pointers instead of descriptors: to outlined functions, and to entry functions.

A memref is passed as its two pointers, its offset, and all its sizes and strides: about thirty
arguments for a sum of two tensors. If sizes and strides are part of the type, the pointer is
enough. LLVM then needs a fraction of the time for the callers, which are long.

MLIR's own C interface passes all of these for each memref of an entry function. A model has
hundreds of weights, hence thousands of arguments. LLVM's time is quadratic in their number: a third
of the compile time of a Llama of 16 layers, half of BERT-base's. Entry functions take their
operands from an array of addresses instead.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, builtin, func, llvm, memref
from pipelines.ir.modules import entry_function, find_operations
from pipelines.ir.values import terminator
from pipelines.reference.steps.outlining import is_outlined


def pass_pointers(module: ir.Module) -> None:
    """Changes the outlined functions and their calls, in place."""
    with module.context, ir.Location.unknown():
        functions = {
            ir.StringAttr(function.attributes["sym_name"]).value: function
            for function in module.body.operations
            if is_outlined(function)
        }
        for call in find_operations(module, lambda each: each.name == "func.call"):
            if ir.FlatSymbolRefAttr(call.attributes["callee"]).value not in functions:
                continue
            with ir.InsertionPoint(call):
                for index, operand in enumerate(call.operands):
                    if _is_static(operand.type):
                        call.operands[index] = _pointer(operand)
        for function in functions.values():
            _take_pointers(function)


def _is_static(type: ir.Type) -> bool:
    """Returns whether sizes and strides are static, and the offset is 0."""
    if not isinstance(type, ir.MemRefType) or not type.has_static_shape:
        return False
    strides, offset = type.get_strides_and_offset()
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    return offset == 0 and dynamic not in strides


def _pointer(buffer: ir.Value) -> ir.Value:
    address = memref.ExtractAlignedPointerAsIndexOp(buffer).result
    number = arith.IndexCastOp(ir.IntegerType.get_signless(64), address).result
    return llvm.IntToPtrOp(ir.Type.parse("!llvm.ptr"), number).result


def _take_pointers(function: ir.OpView) -> None:
    block = function.regions[0].blocks[0]
    pointer = ir.Type.parse("!llvm.ptr")
    types = []
    for argument in list(block.arguments):
        old = argument.type
        if not _is_static(old):
            types.append(old)
            continue
        types.append(pointer)
        argument.set_type(pointer)
        with ir.InsertionPoint.at_block_begin(block):
            buffer, first = _descriptor(argument, old)
        argument.replace_all_uses_except(buffer, first)
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))


def _descriptor(pointer: ir.Value, type: ir.MemRefType) -> tuple[ir.Value, list[ir.Operation]]:
    """Returns a buffer of this type at the pointer, and the created users of the pointer."""
    strides, _ = type.get_strides_and_offset()
    rank = type.rank
    arrays = f", array<{rank} x i64>, array<{rank} x i64>" if rank else ""
    structure = ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{arrays})>")
    value = llvm.PoisonOp(structure).result
    users = []
    for position in (0, 1):
        value = llvm.InsertValueOp(value, pointer, [position]).result
        users.append(value.owner.operation)
    numbers = [((2,), 0)]
    numbers += [((3, axis), size) for axis, size in enumerate(type.shape)]
    numbers += [((4, axis), stride) for axis, stride in enumerate(strides)]
    integer = ir.IntegerType.get_signless(64)
    for position, number in numbers:
        constant = llvm.ConstantOp(integer, ir.IntegerAttr.get(integer, number)).result
        value = llvm.InsertValueOp(value, constant, list(position)).result
    return builtin.UnrealizedConversionCastOp([type], [value]).results[0], users


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
        last = terminator(each)
        if last.name == "func.return":
            with ir.InsertionPoint(last), last.location:
                _store_results(array, list(last.operands))
                func.ReturnOp([])
            last.erase()
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
