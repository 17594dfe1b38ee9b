"""Estimates the memory that the tensors of a function hold at the same time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.analysis.arithmetic import element_bytes
from pipelines.analysis.sizes import Size, Sizes, destinations, is_destination_style
from pipelines.ir.values import terminator

# Views of the memory of the first operand.
_VIEWS = re.compile(r"tensor\.(cast|expand_shape|collapse_shape|extract_slice|reshape)")
# The result reuses the memory of this operand if nothing reads its old content later.
_IN_PLACE = {"tensor.insert_slice": 1, "tensor.insert": 1, "tensor.scatter": 1}
_LOOPS = {"scf.for": 3, "scf.while": 0}


@dataclass(frozen=True)
class Moment:
    """The memory in use while one operation of the entry function runs.

    Attributes:
        operation: its position in the function's block.
        bytes: size of the live temporaries, including the operation's results.
    """

    operation: int
    bytes: Size


@dataclass(frozen=True)
class LiveTensor:
    """A temporary that is live at the peak: its operation's position, and its size in bytes."""

    operation: int
    bytes: Size


@dataclass(frozen=True)
class Memory:
    """Memory of a call, in bytes.

    Temporaries are the tensors that the function computes, including its results. The estimate
    follows the order of the IR and gives each operation its own buffer. This is an upper bound for
    compilers that fuse or reorder. Views take no memory. A result reuses the memory of its
    destination if that is not needed any more.

    Attributes:
        inputs, weights, results: size of inputs, of weights and state, and of results.
        constants: size of the literals in the IR.
        peak: the largest size of live temporaries; None if it depends on unknown sizes.
        at: position of the operation at the peak, in the entry block.
        held: the temporaries that are live at the peak, the largest first.
        moments: the memory at each operation that changes it.
    """

    inputs: Size
    weights: Size
    constants: Size
    results: Size
    peak: Size | None
    at: int | None
    held: tuple[LiveTensor, ...]
    moments: tuple[Moment, ...]


@dataclass
class _Buffer:
    """A buffer, created at position `born` and last used at position `dies`."""

    bytes: Size
    born: int
    dies: int


def memory_of(function: ir.OpView, sizes: Sizes) -> Memory:
    """Returns the memory that one call of `function` takes. The function must not have calls."""
    block = function.regions[0].blocks[0]
    weights, inputs = 0, 0
    attributes = (
        list(function.attributes["arg_attrs"]) if "arg_attrs" in function.attributes else []
    )
    for index, argument in enumerate(block.arguments):
        marks = attributes[index] if attributes else {}
        if "unmess.weight" in marks or "unmess.state" in marks:
            weights += _bytes(argument, sizes)
        else:
            inputs += _bytes(argument, sizes)
    constants = sum(
        _bytes(operation.operation.results[0], sizes)
        for operation in block.operations
        if operation.operation.name == "arith.constant"
    )
    results = sum(_bytes(value, sizes) for value in terminator(block).operands)
    course, buffers = _course(block, sizes)
    known = [moment for moment in course if isinstance(moment.bytes, int)]
    if len(known) < len(course) or not course:
        peak, at, held = (None if course else 0), None, ()
    else:
        top = max(course, key=lambda moment: moment.bytes)
        peak, at = top.bytes, top.operation
        held = tuple(
            sorted(
                (
                    LiveTensor(buffer.born, buffer.bytes)
                    for buffer in buffers
                    if buffer.born <= at <= buffer.dies and buffer.bytes
                ),
                key=lambda each: -each.bytes,
            )
        )
    return Memory(inputs, weights, constants, results, peak, at, held, tuple(course))


def _course(block: ir.Block, sizes: Sizes) -> tuple[list[Moment], list[_Buffer]]:
    """Returns the moments of a block, and the buffers that it creates."""
    operations = [each.operation for each in block.operations]
    last_use = _last_uses(block, operations)
    owners: dict[ir.Value, _Buffer] = {}
    buffers: list[_Buffer] = []
    extra = [0] * len(operations)
    for index, operation in enumerate(operations):
        extra[index] = max((_inner_peak(region, sizes) for region in _bodies(operation)), default=0)
        for position, result in enumerate(operation.results):
            if not isinstance(result.type, ir.RankedTensorType):
                continue
            dies = last_use.get(result, index)
            if _VIEWS.fullmatch(operation.name):
                if buffer := owners.get(operation.operands[0]):
                    buffer.dies = max(buffer.dies, dies)
                    owners[result] = buffer
                continue
            if operation.name in ("tensor.empty", "arith.constant"):
                # The operation that writes counts the memory; literals are counted separately.
                continue
            before = _destination(operation, position)
            old = None if before is None else owners.get(before)
            if old is not None and old.dies <= index:
                old.dies = max(old.dies, dies)
                owners[result] = old
                continue
            buffer = _Buffer(_bytes(result, sizes), index, dies)
            owners[result] = buffer
            buffers.append(buffer)
    return _moments(buffers, extra), buffers


def _moments(buffers: list[_Buffer], extra: list[Size]) -> list[Moment]:
    change: dict[int, Size] = {}
    for buffer in buffers:
        change[buffer.born] = change.get(buffer.born, 0) + buffer.bytes
        change[buffer.dies + 1] = change.get(buffer.dies + 1, 0) - buffer.bytes
    live: Size = 0
    moments = []
    for index, inner in enumerate(extra):
        live = live + change.get(index, 0)
        if index in change or inner != 0:
            moments.append(Moment(index, live + inner))
    return moments


def _inner_peak(region: ir.Region, sizes: Sizes) -> Size:
    peak: Size = 0
    for block in region.blocks:
        for moment in _course(block, sizes)[0]:
            if not isinstance(moment.bytes, int) or not isinstance(peak, int):
                # The larger of two expressions is unknown. Their sum is an upper bound.
                peak = peak + moment.bytes
            else:
                peak = max(peak, moment.bytes)
    return peak


def _bodies(operation: ir.Operation) -> list[ir.Region]:
    """Returns regions that allocate tensors: those of control flow, not bodies of linalg."""
    return list(operation.regions) if operation.name.startswith("scf.") else []


def _last_uses(block: ir.Block, operations: list[ir.Operation]) -> dict[ir.Value, int]:
    """Returns, for each value, the last position in the block that uses it, directly or nested."""
    position = {operation: index for index, operation in enumerate(operations)}
    found: dict[ir.Value, int] = {}
    for operation in operations:
        for result in operation.results:
            last = -1
            for use in result.uses:
                user = use.owner.operation
                while user.block != block:
                    user = user.parent.operation
                last = max(last, position[user])
            if last >= 0:
                found[result] = last
    return found


def _destination(operation: ir.Operation, position: int) -> ir.Value | None:
    if operation.name in _IN_PLACE:
        return operation.operands[_IN_PLACE[operation.name]]
    if operation.name in _LOOPS:
        return operation.operands[_LOOPS[operation.name] + position]
    return destinations(operation)[position] if is_destination_style(operation) else None


def _bytes(value: ir.Value, sizes: Sizes) -> Size:
    if not isinstance(value.type, ir.RankedTensorType):
        return 0
    return sizes.elements(value) * element_bytes(value.type.element_type)
