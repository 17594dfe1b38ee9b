"""Operations of the torch dialect: to make, to read, and to put others in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch_mlir import ir

from pipelines.ir_modules import find_operations, made


def rewrite(
    module: ir.Module, rewritings: Mapping[str, Callable[[ir.Operation], ir.Value | None]]
) -> None:
    """Gives operations to what is there for their names, which gives what takes their place."""
    with module.context:
        for operation in find_operations(module, lambda operation: operation.name in rewritings):
            with ir.InsertionPoint(operation), operation.location:
                result = rewritings[operation.name](operation)
            if result is not None:
                operation.results[0].replace_all_uses_with(result)
                operation.erase()


def integer_constant(value: int) -> ir.Value:
    """A `torch.constant.int` at the current insertion point."""
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    return made("torch.constant.int", "!torch.int", value=attribute)


def value_of(value: ir.Value) -> float:
    """Of a `torch.constant.int`, `torch.constant.float` or `torch.constant.bool`."""
    return value.owner.operation.attributes["value"].value


def sizes_of(kind: ir.Type) -> list[int | None]:
    """Of a `!torch.vtensor<[2,?],f32>`; None for what is not known."""
    shape = str(kind).partition("[")[2].partition("]")[0]
    return [None if size == "?" else int(size) for size in shape.split(",") if size]


def element_of(kind: ir.Type) -> str:
    """The element type of a `!torch.vtensor`, such as `f32` or `si64`."""
    return str(kind).rpartition(",")[2].rstrip(">")


def shape_of(kind: ir.Type) -> str:
    """A `!torch.vtensor` without its element type."""
    return str(kind).rpartition(",")[0]


def maker_of(value: ir.Value, name: str) -> ir.Operation | None:
    """The operation that makes a value, if it is one of that name."""
    # A block owns its arguments.
    owner = value.owner
    is_one = not isinstance(owner, ir.Block) and owner.operation.name == name
    return owner.operation if is_one else None
