"""Cuts the linalg operations out of a module, each as a function of its own in canonical form.

The function has one argument for each distinct operand, and returns the results. Constants, also
those that the body uses from outside, become part of the function. Locations, names and attributes
of other dialects are removed. So operations that compute the same have the same text, and its
SHA-256 identifies the kernel.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.dialects import func

from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer_named

NAME = "kernel"
# Constants with more elements are arguments.
_LARGE = 16
_TERMINATORS = ("linalg.yield", "linalg.index")


@dataclass(frozen=True)
class Kernel:
    """A linalg operation as a function.

    Attributes:
        sha256: of the text.
        text: a module with the function `kernel`.
        operation: the name of the linalg operation.
        body: the names of the operations in its body, each once, sorted; empty for a named one.
        dynamic: whether a size is dynamic.
    """

    sha256: str
    text: str
    operation: str
    body: tuple[str, ...]
    dynamic: bool


def kernels_of(module: ir.Module) -> Iterator[Kernel]:
    """Yields the kernel of each linalg operation on tensors, in the order of the module."""
    for operation in find_operations(module, _is_kernel):
        with module.context, ir.Location.unknown():
            yield _kernel(operation)


def _is_kernel(operation: ir.Operation) -> bool:
    return (
        operation.name.startswith("linalg.")
        and operation.name not in _TERMINATORS
        and len(operation.results) > 0
    )


def _kernel(operation: ir.Operation) -> Kernel:
    module = ir.Module.create()
    values = list(dict.fromkeys([*operation.operands, *_captured(operation)]))
    constants = [value for value in values if _is_small_constant(value)]
    arguments = [value for value in values if value not in constants]
    types = ([value.type for value in arguments], [result.type for result in operation.results])
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(NAME, types)
        block = function.add_entry_block()
    inside = dict(zip(arguments, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for value in constants:
            inside[value] = value.owner.clone().operation.results[0]
        copy = operation.clone().operation
        for each in _nested(copy):
            for index, operand in enumerate(each.operands):
                if operand in inside:
                    each.operands[index] = inside[operand]
        func.ReturnOp(copy.results)
    for each in _nested(module.operation):
        for name in [key for key in each.attributes if "." in key]:
            del each.attributes[name]
    text = module.operation.get_asm(enable_debug_info=False)
    body = {each.name for each in _nested(copy)} - {copy.name, *_TERMINATORS}
    return Kernel(
        hashlib.sha256(text.encode()).hexdigest(),
        text,
        operation.name,
        tuple(sorted(body)) if operation.name in ("linalg.generic", "linalg.map") else (),
        any(_is_dynamic(value.type) for value in itertools.chain(arguments, operation.results)),
    )


def _nested(operation: ir.Operation) -> Iterator[ir.Operation]:
    """Yields an operation and all operations in it."""
    yield operation
    for region in operation.regions:
        for block in region.blocks:
            for each in block.operations:
                yield from _nested(each.operation)


def _captured(operation: ir.Operation) -> list[ir.Value]:
    """Returns the values of the surrounding code that the body uses, in the order of use."""
    own = set()
    for each in _nested(operation):
        own.update(each.results)
        for region in each.regions:
            for block in region.blocks:
                own.update(block.arguments)
    inner = itertools.islice(_nested(operation), 1, None)
    return [value for each in inner for value in each.operands if value not in own]


def _is_small_constant(value: ir.Value) -> bool:
    constant = producer_named(value, "arith.constant")
    if constant is None:
        return False
    content = constant.attributes["value"]
    if not isinstance(content, ir.DenseElementsAttr):
        return not isinstance(value.type, ir.RankedTensorType)
    return content.is_splat or len(content) <= _LARGE


def _is_dynamic(kind: ir.Type) -> bool:
    return isinstance(kind, ir.RankedTensorType) and not kind.has_static_shape
