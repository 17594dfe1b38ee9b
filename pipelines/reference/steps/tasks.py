"""Moves loops over parts to functions. Each thread of a team calls them for some of the parts."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, func, llvm
from pipelines.ir.modules import find_operations
from pipelines.reference.runtime import DO_PARTS
from pipelines.reference.steps.outlining import (
    OUTLINED,
    copied_with_constants,
    operands_from_outside,
)
from pipelines.reference.steps.splitting import PARTS

# An attribute of the created functions.
TASK = "unmess.task"


def outline_tasks(module: ir.Module) -> None:
    """Moves the bodies of loops over parts to functions, which take the index of a part first.

    Calls replace the loops. They pass the number of parts instead of an index, until `dispatch`
    hands them to the runtime, which calls the function for each part. Equal loops share a function.
    """
    names: dict[str, str] = {}
    with module.context, ir.Location.unknown():
        for loop in find_operations(module, lambda each: PARTS in each.attributes, outermost=True):
            count = loop.operands[1]
            operands = operands_from_outside(loop)
            name = _task(module, loop, operands, names)
            with ir.InsertionPoint(loop), loop.location:
                func.CallOp([], name, [count, *operands])
            loop.erase()


def _task(
    module: ir.Module, loop: ir.Operation, operands: list[ir.Value], names: dict[str, str]
) -> str:
    """Returns the name of the function that executes one iteration of the loop."""
    types = [ir.IndexType.get(), *(value.type for value in operands)]
    function = func.FuncOp(
        "task", (types, []), visibility="private", ip=ir.InsertionPoint(module.body)
    )
    part, *arguments = function.add_entry_block().arguments
    with ir.InsertionPoint(function.entry_block):
        copy = copied_with_constants(loop, dict(zip(operands, arguments, strict=True)))
        with ir.InsertionPoint(copy):
            one = arith.ConstantOp.create_index(1).result
            copy.operands[0] = part
            copy.operands[1] = arith.AddIOp(part, one).result
        del copy.attributes[PARTS]
        func.ReturnOp([])
    text = function.operation.get_asm(enable_debug_info=False, use_local_scope=True)
    if text in names:
        function.operation.erase()
        return names[text]
    names[text] = f"task_{len(names)}"
    function.attributes["sym_name"] = ir.StringAttr.get(names[text])
    function.attributes[OUTLINED] = ir.UnitAttr.get()
    function.attributes[TASK] = ir.UnitAttr.get()
    return names[text]


def dispatch(module: ir.Module) -> None:
    """Makes the runtime call the tasks. Takes a module in the LLVM dialect."""
    with module.context, ir.Location.unknown():
        tasks = {
            ir.StringAttr(function.attributes["sym_name"]).value: function
            for function in module.body.operations
            if function.operation.name == "llvm.func" and TASK in function.attributes
        }
        if not tasks:
            return
        ir.Operation.parse(f"llvm.func @{DO_PARTS}(!llvm.ptr, !llvm.ptr, i64)").clone(
            ip=ir.InsertionPoint(module.body)
        )
        for function in list(module.body.operations):
            if function.operation.name == "llvm.func" and function.regions[0].blocks:
                _dispatch_calls(function, tasks)
        for name, function in tasks.items():
            del function.attributes[TASK]
            unpacking = ir.Module.parse(_unpacking(name, _types(function)))
            unpacking.body.operations[0].operation.clone(ip=ir.InsertionPoint(module.body))


def _types(task: ir.OpView) -> list[ir.Type]:
    """Returns the types of a task's arguments after the index of the part."""
    return [argument.type for argument in task.regions[0].blocks[0].arguments][1:]


def _dispatch_calls(function: ir.OpView, tasks: dict[str, ir.OpView]) -> None:
    pointer = ir.Type.parse("!llvm.ptr")
    for call in find_operations(function, lambda each: each.name == "llvm.call"):
        # Calls of function pointers have no `callee`.
        symbol = call.attributes.get("callee")
        callee = symbol and ir.FlatSymbolRefAttr(symbol).value
        if callee not in tasks:
            continue
        count, *operands = call.operands
        structure = _structure(_types(tasks[callee]))
        # Allocate in the entry block: in a loop the stack would grow.
        with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
            one = llvm.ConstantOp(_i64(), ir.IntegerAttr.get(_i64(), 1)).result
            room = llvm.AllocaOp(pointer, one, ir.TypeAttr.get(structure)).result
        with ir.InsertionPoint(call), call.location:
            for position, operand in enumerate(operands):
                llvm.StoreOp(operand, _field(room, structure, position))
            unpacking = llvm.AddressOfOp(pointer, ir.FlatSymbolRefAttr.get(f"{callee}_part"))
            llvm.CallOp(
                None,
                [unpacking.result, room, count],
                [],
                [],
                callee=ir.FlatSymbolRefAttr.get(DO_PARTS),
            )
        call.erase()


def _unpacking(name: str, types: list[ir.Type]) -> str:
    """Returns a function that loads a task's arguments from memory and calls the task.

    The memory holds the index of the part and the address of the other arguments.
    """
    structure = _structure(types)
    lines = [
        f"llvm.func internal @{name}_part(%packed: !llvm.ptr) {{",
        "%part = llvm.load %packed : !llvm.ptr -> i64",
        "%place = llvm.getelementptr %packed[1] : (!llvm.ptr) -> !llvm.ptr, i64",
        "%operands = llvm.load %place : !llvm.ptr -> !llvm.ptr",
    ]
    for position, type in enumerate(types):
        lines += [
            f"%at{position} = llvm.getelementptr %operands[0, {position}] : (!llvm.ptr) -> "
            f"!llvm.ptr, {structure}",
            f"%value{position} = llvm.load %at{position} : !llvm.ptr -> {type}",
        ]
    values = "".join(f", %value{position}" for position in range(len(types)))
    all_types = ", ".join(["i64", *map(str, types)])
    lines += [
        f"llvm.call @{name}(%part{values}) : ({all_types}) -> ()",
        "llvm.return",
        "}",
        # The text only parses with this declaration.
        f"llvm.func @{name}({all_types})",
    ]
    return "\n".join(lines)


def _structure(types: list[ir.Type]) -> ir.Type:
    return ir.Type.parse(f"!llvm.struct<({', '.join(map(str, types))})>")


def _field(room: ir.Value, structure: ir.Type, position: int) -> ir.Value:
    pointer = ir.Type.parse("!llvm.ptr")
    indices = ir.DenseI32ArrayAttr.get([0, position])
    return llvm.GEPOp(pointer, room, [], indices, ir.TypeAttr.get(structure), None).result


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)
