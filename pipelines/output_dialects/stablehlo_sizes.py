"""Refines static sizes in StableHLO, marks broadcasts of dynamic ones, and decomposes reshapes.

A broadcast of a dynamic size may stretch it (1 to n) or keep it. Lowerings to linalg, also in IREE,
support both, but not a choice at run time. In captured programs, no dynamic size is 1 where another
operand's size is not. The lowering to StableHLO loses this fact.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.values import producer_named
from pipelines.output_dialects.strict_sizes import NOTED


def refine_sizes(module: ir.Module) -> None:
    """Propagates static sizes from operands to results, in each entry function.

    The upstream pass changes only one function: the only one of a module, or the one called `main`.
    """
    refine = PassManager.parse("builtin.module(stablehlo-refine-shapes)", module.context)
    entries = [
        each
        for each in module.body.operations
        if each.operation.name == "func.func" and "sym_visibility" not in each.attributes
    ]
    if len(entries) == 1:
        refine.run(module.operation)
        return
    with module.context:
        names = [entry.attributes["sym_name"] for entry in entries]
        others = [ir.StringAttr.get(f"entry.{number}") for number in range(len(entries))]
        for entry, other in zip(entries, others, strict=True):
            entry.attributes["sym_name"] = other
        for entry, other in zip(entries, others, strict=True):
            entry.attributes["sym_name"] = ir.StringAttr.get("main")
            refine.run(module.operation)
            entry.attributes["sym_name"] = other
        for entry, name in zip(entries, names, strict=True):
            entry.attributes["sym_name"] = name


def annotate_broadcasts(module: ir.Module) -> None:
    """Marks broadcasts as keeping dynamic sizes, in functions that `note_strict_sizes` marked."""
    with module.context:
        for function in module.body.operations:
            if NOTED in function.attributes:
                del function.attributes[NOTED]
                for broadcast in find_operations(function, _is_dynamic_broadcast):
                    _keep_sizes(broadcast)


def _is_dynamic_broadcast(operation: ir.Operation) -> bool:
    return operation.name == "stablehlo.dynamic_broadcast_in_dim"


def _keep_sizes(broadcast: ir.Operation) -> None:
    operand = ir.RankedTensorType(broadcast.operands[0].type)
    dynamic = [axis for axis in range(operand.rank) if operand.is_dynamic_dim(axis)]
    if dynamic:
        broadcast.attributes["known_nonexpanding_dimensions"] = ir.DenseI64ArrayAttr.get(dynamic)


def decompose_dynamic_reshapes(module: ir.Module) -> None:
    """Rewrites `stablehlo.dynamic_reshape`: collapses all dimensions, then expands to the new ones.

    Also replaces `shape.num_elements`, from which a size of -1 is computed, with a product of
    sizes.
    """
    with module.context:
        for operation in find_operations(module, lambda o: o.name == "shape.num_elements"):
            shape = producer_named(operation.operands[0], "shape.shape_of")
            if shape is not None:
                with ir.InsertionPoint(operation), operation.location:
                    number = _number_of_elements(shape.operands[0])
                operation.result.replace_all_uses_with(number)
                operation.erase()
        for operation in find_operations(module, lambda o: o.name == "stablehlo.dynamic_reshape"):
            with ir.InsertionPoint(operation), operation.location:
                operand, sizes = operation.operands
                result = _split(_joined(operand), sizes, operation.result.type)
            operation.result.replace_all_uses_with(result)
            operation.erase()


def _joined(x: ir.Value) -> ir.Value:
    kind = ir.RankedTensorType(x.type)
    if kind.rank == 1:
        return x
    size = ir.ShapedType.get_dynamic_size()
    if kind.has_static_shape:
        size = 1
        for each in kind.shape:
            size *= each
    line = ir.RankedTensorType.get([size], kind.element_type)
    together = _reassociation(kind.rank)
    return build_op("tensor.collapse_shape", line, x, reassociation=together)


def _split(line: ir.Value, sizes: ir.Value, kind: ir.RankedTensorType) -> ir.Value:
    if kind.rank == 1:
        return line if line.type == kind else build_op("tensor.cast", kind, line)
    dynamic = [_size(sizes, axis) for axis in range(kind.rank) if kind.is_dynamic_dim(axis)]
    return build_op(
        "tensor.expand_shape",
        kind,
        line,
        *dynamic,
        reassociation=_reassociation(kind.rank),
        static_output_shape=ir.DenseI64ArrayAttr.get(kind.shape),
    )


def _number_of_elements(x: ir.Value) -> ir.Value:
    kind = ir.RankedTensorType(x.type)
    index = ir.IndexType.get()
    number = _index(1)
    for axis, size in enumerate(kind.shape):
        is_dynamic = kind.is_dynamic_dim(axis)
        length = build_op("tensor.dim", index, x, _index(axis)) if is_dynamic else _index(size)
        number = build_op("arith.muli", index, number, length)
    return number


def _size(sizes: ir.Value, axis: int) -> ir.Value:
    index = ir.IndexType.get()
    element = ir.RankedTensorType(sizes.type).element_type
    size = build_op("tensor.extract", element, sizes, _index(axis))
    return size if element == index else build_op("arith.index_cast", index, size)


def _index(value: int) -> ir.Value:
    index = ir.IndexType.get()
    return build_op("arith.constant", index, value=ir.IntegerAttr.get(index, value))


def _reassociation(rank: int) -> ir.Attribute:
    """Returns the reassociation of all dimensions into one."""
    axes = ", ".join(map(str, range(rank)))
    return ir.Attribute.parse(f"[[{axes}]]")
