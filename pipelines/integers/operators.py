"""Reads the operators of integer programs in a module at `torch`, and replaces them by functions.

The file `importers/integer_operators.py` defines their arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.custom_operators import custom_operators
from pipelines.ir.modules import build_op
from pipelines.ir.torch_operations import (
    builtin_type,
    element_of,
    from_builtin,
    is_none,
    is_tensor,
    load_dialects,
    sizes_of,
    value_of,
)
from pipelines.ir.values import producer_named

_PREFIX = "torch.unmess."


@dataclass(frozen=True)
class Tensor:
    """An operand or the result of an operator.

    Attributes:
        sizes: None for dynamic ones.
        element: such as `si8`, `ui8` or `si32`.
        type: the builtin type, with signless integers, except for unsigned ones in StableHLO.
    """

    sizes: tuple[int | None, ...]
    element: str
    type: str

    @property
    def is_unsigned(self) -> bool:
        """Whether the integers are unsigned."""
        return self.element.startswith("ui")

    @property
    def bits(self) -> int:
        """The number of bits of an element."""
        return int(self.element.lstrip("sui"))

    def with_sizes(self, sizes: Sequence[int | None]) -> Tensor:
        """Returns a tensor of the same elements with other sizes."""
        return Tensor(tuple(sizes), self.element, tensor_type(sizes, self.bits))


def tensor_type(sizes: Sequence[int | None], bits: int) -> str:
    """Returns the builtin type of signless integers."""
    shape = "".join(f"{'?' if size is None else size}x" for size in sizes)
    return f"tensor<{shape}i{bits}>"


@dataclass(frozen=True)
class Operator:
    """An operator of an integer program.

    Attributes:
        name: such as `rescale`.
        tensors: the tensor operands by position; None for a bias that is missing.
        numbers: the other operands: integers and lists of integers, in order.
    """

    name: str
    tensors: tuple[Tensor | None, ...]
    numbers: tuple[int | list[int], ...]
    result: Tensor


def lower_operators(
    module: ir.Module,
    conversion: str,
    functions: dict[str, Callable[[Operator], str]],
    builtin_type: Callable[[ir.Type], str] = builtin_type,
) -> None:
    """Replaces the operators of integer programs in a module at `torch`.

    Args:
        conversion: the pass that lowers other operators to the dialect, which loads it.
        functions: by the name of the operator: returns a `func.func private @NAME`, as text, which
            takes the tensors that the operator has as builtin tensors.
        builtin_type: returns the builtin type of a `!torch.vtensor`.
    """
    found = custom_operators(module, lambda name: name.startswith(_PREFIX))
    if not found:
        return
    load_dialects(module, conversion)
    with module.context:
        for number, operation in enumerate(found):
            operator = _read(operation, builtin_type)
            symbol = f"unmess.{operator.name}.{number}"
            text = functions[operator.name](operator).replace("@NAME", f"@{symbol}")
            _insert(module, text)
            with ir.InsertionPoint(operation), operation.location:
                _call(operation, symbol, builtin_type)
        PassManager.parse("builtin.module(inline,symbol-dce)").run(module.operation)


class Lines:
    """The lines of a function. Each method adds an operation, and returns its result's name."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, text: str) -> str:
        """Adds an operation with one result."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name


def define_function(
    operator: Operator, names: Sequence[str], lines: Sequence[str], result: str
) -> str:
    """Returns the text of a function for `lower_operators`.

    Args:
        names: of the parameters, one for each tensor operand.
        lines: the operations of its body.
        result: the name of the value that it returns.
    """
    operands = ", ".join(
        f"%{name}: {tensor.type}"
        for name, tensor in zip(names, operator.tensors, strict=True)
        if tensor is not None
    )
    kind = operator.result.type
    body = "\n".join([*lines, f"return {result} : {kind}"])
    return f"func.func private @NAME({operands}) -> {kind} {{\n{body}\n}}"


def _insert(module: ir.Module, text: str) -> None:
    part = ir.Module.parse(text)
    with ir.InsertionPoint(module.body), ir.Location.unknown():
        for function in part.body.operations:
            function.operation.clone()


def _call(operation: ir.Operation, symbol: str, builtin_type: Callable[[ir.Type], str]) -> None:
    tensors = [
        build_op("torch_c.to_builtin_tensor", builtin_type(each.type), each)
        for each in operation.operands
        if is_tensor(each)
    ]
    result = operation.results[0]
    call = build_op(
        "func.call",
        builtin_type(result.type),
        *tensors,
        callee=ir.FlatSymbolRefAttr.get(symbol),
    )
    result.replace_all_uses_with(from_builtin(call, result.type))
    operation.erase()


def _read(operation: ir.Operation, builtin_type: Callable[[ir.Type], str]) -> Operator:
    name = ir.StringAttr(operation.attributes["name"]).value.removeprefix(_PREFIX)
    tensors: list[Tensor | None] = []
    numbers: list[int | list[int]] = []
    for operand in operation.operands:
        if is_tensor(operand):
            tensors.append(_tensor(operand.type, builtin_type))
        elif (list_ := producer_named(operand, "torch.prim.ListConstruct")) is not None:
            numbers.append([int(value_of(each)) for each in list_.operands])
        elif is_none(operand):
            tensors.append(None)
        else:
            numbers.append(int(value_of(operand)))
    return Operator(
        name, tuple(tensors), tuple(numbers), _tensor(operation.results[0].type, builtin_type)
    )


def _tensor(kind: ir.Type, builtin_type: Callable[[ir.Type], str]) -> Tensor:
    return Tensor(tuple(sizes_of(kind)), element_of(kind), builtin_type(kind))
