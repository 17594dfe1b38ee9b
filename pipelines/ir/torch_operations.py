"""Creates, inspects and replaces operations of the torch dialect."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.ir.values import producer_named


def rewrite(
    module: ir.Module, rewritings: Mapping[str, Callable[[ir.Operation], ir.Value | None]]
) -> None:
    """Calls the rewriting for each operation's name, and replaces it with the returned value.

    A rewriting that returns None leaves the operation, or has changed it in place.
    """
    with module.context:
        found = find_operations(module, lambda operation: operation.name in rewritings)
        replace_operations(found, lambda operation: rewritings[operation.name](operation))


def integer_constant(value: int) -> ir.Value:
    """Creates a `torch.constant.int` at the current insertion point."""
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    return build_op("torch.constant.int", "!torch.int", value=attribute)


def float_constant(value: float) -> ir.Value:
    """Creates a `torch.constant.float` at the current insertion point."""
    attribute = ir.FloatAttr.get(ir.F64Type.get(), value)
    return build_op("torch.constant.float", "!torch.float", value=attribute)


def value_of(value: ir.Value) -> float:
    """Returns the value of a `torch.constant.int`, `.float` or `.bool`."""
    return value.owner.operation.attributes["value"].value


def number_of(value: ir.Value) -> float | None:
    """Returns the value of a `torch.constant.int` or `.float`; None for other values."""
    constant = producer_named(value, "torch.constant.int", "torch.constant.float")
    return None if constant is None else value_of(value)


def is_tensor(value: ir.Value) -> bool:
    """Returns whether the type of a value is a `!torch.vtensor`."""
    return str(value.type).startswith("!torch.vtensor")


def sizes_of(kind: ir.Type) -> list[int | None]:
    """Returns the sizes of a `!torch.vtensor<[2,?],f32>`; None for dynamic ones."""
    shape = str(kind).partition("[")[2].partition("]")[0]
    return [None if size == "?" else int(size) for size in shape.split(",") if size]


def element_of(kind: ir.Type) -> str:
    """Returns the element type of a `!torch.vtensor`, such as `f32` or `si64`."""
    return str(kind).rpartition(",")[2].rstrip(">")


def bounds_of(element: str) -> tuple[float, float]:
    """Returns the lowest and the largest value of an element type such as `f32` or `si64`."""
    if not element.startswith("si"):
        return -math.inf, math.inf
    half = 1 << int(element.removeprefix("si")) - 1
    return -half, half - 1


def is_number(kind: ir.Type) -> bool:
    """Returns whether the elements of a `!torch.vtensor` are signed integers or floats."""
    return not element_of(kind).startswith(("i1", "ui", "complex"))


def is_float(kind: ir.Type) -> bool:
    """Returns whether the elements of a `!torch.vtensor` are floats, not complex numbers."""
    return element_of(kind).startswith(("f", "bf"))


def shape_of(kind: ir.Type) -> str:
    """Returns the text of a `!torch.vtensor` without its element type."""
    return str(kind).rpartition(",")[0]


def tensor_type(sizes: Sequence[int | None], like: ir.Type | str) -> str:
    """Returns the text of a `!torch.vtensor`.

    Args:
        sizes: None for dynamic ones.
        like: an element type such as `f32`, or a tensor type that has it.
    """
    shape = ",".join("?" if size is None else str(size) for size in sizes)
    return f"!torch.vtensor<[{shape}],{element_of(like)}>"


def is_none(value: ir.Value) -> bool:
    """Returns whether a value is a `torch.constant.none`."""
    return producer_named(value, "torch.constant.none") is not None


def builtin_type(kind: ir.Type, unsigned: bool = False) -> str:
    """Returns the builtin tensor type of a `!torch.vtensor`, with signless integers.

    Args:
        unsigned: keep unsigned integers, as StableHLO does.
    """
    element = element_of(kind).removeprefix("s")
    sizes = ["?" if size is None else str(size) for size in sizes_of(kind)]
    return f"tensor<{'x'.join([*sizes, element if unsigned else element.removeprefix('u')])}>"


def to_builtin(value: ir.Value, unsigned: bool = False) -> ir.Value:
    """Creates the conversion of a `!torch.vtensor` to a builtin tensor, see `builtin_type`.

    The dialect `torch_c` must be loaded; any pass that lowers the torch dialect loads it.
    """
    return build_op("torch_c.to_builtin_tensor", builtin_type(value.type, unsigned), value)


def from_builtin(value: ir.Value, kind: ir.Type) -> ir.Value:
    """Creates the conversion of a builtin tensor to a `!torch.vtensor`, see `to_builtin`."""
    return build_op("torch_c.from_builtin_tensor", kind, value)


def load_dialects(module: ir.Module, lowering: str) -> None:
    """Loads the dialects of a pass on functions into the module's context.

    Runs the pass on an empty module.
    """
    with module.context, ir.Location.unknown():
        nothing = ir.Module.create()
        pipeline = PassManager.parse(f"builtin.module(func.func({lowering}))")
        pipeline.run(nothing.operation)
