"""Hides constant operands from IREE where it compiles constants wrongly.

A tensor such as `torch.arange(n)` or `torch.zeros_like(x)` is computed from no other tensor. IREE
3.13 compiles it wrongly in four cases:

- An operation such as `y.index_put(i, v)` updates the tensor in place. IREE computes `y` again
  instead of copying it, then merges both computations. Other readers of `y` see the update.
- A reduction reads only such tensors. IREE fuses them into the reduction, then adds only some of
  the elements, or needs more memory than the stack has.
- A scan, sort or selection reads the tensor. IREE computes a `linalg.fill` inside the kernel, and
  does not compile the kernel if the tensor is larger than the stack.
- One of several results of a `linalg.generic` is a constant. If IREE can compute the others once,
  too, the constant becomes 0.
"""

from __future__ import annotations

from math import prod

from torch_mlir import ir

from pipelines.ir.generics import is_reduction
from pipelines.ir.modules import find_operations
from pipelines.ir.tensor_ops import copied, sizes_of
from pipelines.ir.values import block_of, terminator
from pipelines.iree.barriers import own_copy, stored
from pipelines.pipeline import Step

# The index of the first operand that an operation updates in place. It updates the rest, too.
_UPDATED = {
    "tensor.insert": 1,
    "tensor.insert_slice": 1,
    "tm_tensor.scatter": 2,
    "tm_tensor.sort": 0,
    # Loops may update the tensors that they carry.
    "scf.for": 3,
    "scf.while": 0,
}
# The number of elements of 8 bytes in 1 MB. IREE computes constants of up to this size once, while
# it compiles or at load, and copies them correctly before a loop.
_COMPUTED_ONCE = 1 << 17
_SCANS = ("tm_tensor.scan", "tm_tensor.topk")
# The prefixes of operations whose results are constants if their tensor operands are.
_PURE = (
    "arith.constant",
    "linalg.",
    "tensor.",
    "tm_tensor.",
    "flow.tensor.bitcast",
)


def hide_constants(module: ir.Module) -> None:
    """Replaces the constants that IREE compiles wrongly. Rewrites a module at `linalg` in place."""
    with module.context:
        for operation in find_operations(module, _has_several_results):
            _fill_constant_results(operation)
        constants = _constants(module)
        for operation in find_operations(
            module, lambda operation: operation.name.startswith((*_PURE, *_UPDATED))
        ):
            hide = own_copy if operation.name in _UPDATED else stored
            for index in _wrong_operands(operation, constants):
                with ir.InsertionPoint(operation), operation.location:
                    operation.operands[index] = hide(operation.operands[index])


def _has_several_results(operation: ir.Operation) -> bool:
    return operation.name == "linalg.generic" and len(operation.results) > 1


def _fill_constant_results(generic: ir.Operation) -> None:
    """Replaces the results that are filled with a value from outside of the body."""
    body = generic.regions[0].blocks[0]
    outputs = list(generic.operands)[-len(generic.results) :]
    yielded = terminator(body).operands
    for result, output, value in zip(generic.results, outputs, yielded, strict=True):
        if block_of(value) != body:
            with ir.InsertionPoint(generic), generic.location:
                result.replace_all_uses_with(copied("linalg.fill", sizes_of(output), value))


def _constants(module: ir.Module) -> set[ir.Value]:
    """Returns the tensors that are computed from no function argument, weight or state."""
    found: set[ir.Value] = set()
    for operation in find_operations(module, lambda operation: operation.name.startswith(_PURE)):
        tensors = (each for each in operation.operands if isinstance(each.type, ir.ShapedType))
        if operation.name not in _UPDATED and all(each in found for each in tensors):
            found.update(operation.results)
    return found


def _wrong_operands(operation: ir.Operation, constants: set[ir.Value]) -> list[int]:
    """Returns the indices of the operands that must not be constants but are."""
    tensors = [
        index
        for index, operand in enumerate(operation.operands)
        if isinstance(operand.type, ir.RankedTensorType)
    ]
    if operation.name in _UPDATED:
        first = _UPDATED[operation.name]
        return [
            index
            for index in tensors
            if index >= first and _is_copied_wrongly(operation, index, constants)
        ]
    if operation.name in _SCANS or is_reduction(operation):
        read = tensors[: len(tensors) - len(operation.results)]
        return read if all(operation.operands[index] in constants for index in read) else []
    return []


def _is_copied_wrongly(operation: ir.Operation, index: int, constants: set[ir.Value]) -> bool:
    value = operation.operands[index]
    # IREE copies fills correctly.
    if value not in constants or value.owner.operation.name in ("linalg.fill", "tensor.empty"):
        return False
    kind = ir.RankedTensorType(value.type)
    has_several_uses = len(list(value.uses)) > 1
    if operation.name.startswith("scf."):
        is_computed_once = kind.has_static_shape and prod(kind.shape) <= _COMPUTED_ONCE
        return has_several_uses and not is_computed_once
    # IREE may find that the dynamic sizes of two constants are equal, and merge the constants. It
    # computes the constants of a loop once, so that the next step would see the update.
    return has_several_uses or not kind.has_static_shape or _may_repeat(operation)


def _may_repeat(operation: ir.Operation) -> bool:
    """Returns whether an operation is inside of control flow, which may be a loop."""
    parent = operation.parent.operation
    return parent.name != "func.func" or operation.block != parent.regions[0].blocks[0]


HIDE_CONSTANTS = Step(
    "iree-hide-constants",
    "copy constants that IREE would update, scan or sort wrongly",
    hide_constants,
)
