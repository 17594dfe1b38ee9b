"""Computes arithmetic and memory traffic of an operation from its loops and its body."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields

from torch_mlir import ir

from pipelines.analysis import arithmetic
from pipelines.analysis.bodies import iterators
from pipelines.analysis.sizes import Size, Sizes, destinations, is_structured
from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer_named

# Operations without a cost of their own: views, allocations, scalars, and control flow, whose
# regions are counted separately.
_FREE = re.compile(
    r"tensor\.(empty|cast|expand_shape|collapse_shape|extract_slice|reshape|dim|extract)"
    r"|arith\.constant|ub\.poison|bufferization\.to_tensor|ml_program\.global_load|scf\..*"
    r"|torch_c\.(to|from)_builtin_tensor"
)
_WIDENING = frozenset(f"arith.{name}" for name in ("extf", "extsi", "extui", "sitofp", "uitofp"))
_PRODUCTS = ("arith.mulf", "arith.muli")
_SUMS = ("arith.addf", "arith.addi")
# Operations that reorder their operands by comparisons, which are not counted.
_ARRANGED = ("tm_tensor.sort", "tm_tensor.topk")


@dataclass(frozen=True)
class Cost:
    """Numbers of operations and bytes. Each is an integer, or an expression in symbols.

    Attributes:
        flops: floating-point operations; a multiply-add counts as two.
        transcendentals: exponentials, logarithms, roots, powers, trigonometric functions.
        integers: integer arithmetic and comparisons.
        read, written: bytes, if each operation reads each operand once, writes each result once,
            and no cache keeps data between operations.
    """

    flops: Size = 0
    transcendentals: Size = 0
    integers: Size = 0
    read: Size = 0
    written: Size = 0

    @property
    def bytes(self) -> Size:
        """The sum of bytes read and written."""
        return self.read + self.written

    @property
    def intensity(self) -> float | None:
        """Floating-point operations per byte; None if nothing is moved or sizes are unknown."""
        if not isinstance(self.flops, int) or not isinstance(self.bytes, int) or not self.bytes:
            return None
        return self.flops / self.bytes

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Cost)))

    def times(self, count: Size) -> Cost:
        """Returns the cost of `count` executions."""
        return self if count == 1 else Cost(*(getattr(self, f.name) * count for f in fields(Cost)))


@dataclass(frozen=True)
class Costed:
    """The cost and the kind of an operation.

    `kind` is `contraction` (sums of products: matrix products, convolutions), `reduction`,
    `elementwise`, `indexed` (reads or writes at computed indices), `movement` (no arithmetic) or
    `unknown` (arithmetic is not counted).
    """

    kind: str
    cost: Cost


def cost_of(operation: ir.Operation, sizes: Sizes) -> Costed | None:
    """Returns the cost of an operation; None for free ones, such as views, and for scalars."""
    if is_structured(operation):
        return _structured(operation, sizes)
    tensors = [value for value in operation.operands if _is_tensor(value)]
    results = [value for value in operation.results if _is_tensor(value)]
    if _FREE.fullmatch(operation.name) or not results:
        return None
    written = sum(_bytes(value, sizes) for value in results)
    if operation.name in ("tensor.insert_slice", "tensor.parallel_insert_slice"):
        moved = _bytes(operation.operands[0], sizes)
        return Costed("movement", Cost(read=moved, written=moved))
    if operation.name == "tensor.insert":
        return Costed("movement", Cost(written=_bytes_of_element(results[0])))
    if operation.name in ("tensor.pad", "tensor.concat", "tensor.splat", "tensor.from_elements"):
        read = sum(_bytes(value, sizes) for value in tensors)
        return Costed("movement", Cost(read=read, written=written))
    if operation.name == "tensor.generate":
        count = sizes.elements(results[0])
        body = _body_cost(operation)
        return Costed("indexed", body.times(count) + Cost(written=written))
    if operation.name == "tm_tensor.scan":
        count = sizes.elements(operation.operands[0])
        read = _bytes(operation.operands[0], sizes)
        moved = Cost(read=read, written=written)
        return Costed("reduction", _body_cost(operation).times(count) + moved)
    if operation.name == "tm_tensor.scatter":
        updates = operation.operands[0]
        written = _bytes(updates, sizes)
        moved = Cost(read=written + _bytes(operation.operands[1], sizes), written=written)
        body = _body_cost(operation).times(sizes.elements(updates))
        return Costed("indexed", body + moved)
    if operation.name == "tm_tensor.attention":
        return _attention(operation, sizes)
    if operation.name.startswith(("arith.", "math.", "complex.")):
        moved = Cost(read=sum(_bytes(value, sizes) for value in tensors), written=written)
        count = sizes.elements(results[0])
        return Costed("elementwise", _scalar(operation.name).times(count) + moved)
    read = sum(_bytes(value, sizes) for value in tensors)
    kind = "indexed" if operation.name in _ARRANGED else "unknown"
    return Costed(kind, Cost(read=read, written=written))


def _structured(operation: ir.Operation, sizes: Sizes) -> Costed:
    iterations = math.prod(sizes.loops(operation))
    block = operation.regions[0].blocks[0]
    body = _body_cost(operation)
    outs = destinations(operation)
    first = len(operation.operands) - len(outs)
    read, written = 0, sum(_bytes(value, sizes) for value in outs)
    for index, (value, inner) in enumerate(zip(operation.operands, block.arguments, strict=True)):
        used = next(iter(inner.uses), None) is not None
        if used and not (index >= first and _is_empty(value)):
            read += _bytes(value, sizes)
    looked_up = _looked_up(operation)
    cost = body.times(iterations) + Cost(0, 0, 0, read + looked_up * iterations, written)
    return Costed(_kind(operation, body, looked_up), cost)


def _kind(operation: ir.Operation, body: Cost, looked_up: int) -> str:
    if looked_up:
        return "indexed"
    if "reduction" in iterators(operation):
        return "contraction" if _sums_products(operation) else "reduction"
    arithmetic_ = body.flops + body.transcendentals + body.integers
    return "elementwise" if arithmetic_ else "movement"


def _sums_products(operation: ir.Operation) -> bool:
    """Returns whether the body is `out + a * b`, with operands that may be widened."""
    block = operation.regions[0].blocks[0]
    names = [each.operation.name for each in block.operations]
    arithmetic_ = [name for name in names[:-1] if name not in _WIDENING]
    return (
        len(arithmetic_) >= 2
        and arithmetic_[-1] in _SUMS
        and arithmetic_[-2] in _PRODUCTS
        # Quantized operands have their zero points subtracted.
        and all(name == "arith.subi" for name in arithmetic_[:-2])
    )


def _body_cost(operation: ir.Operation) -> Cost:
    """Returns the cost of one execution of an operation's region; counts both sides of branches."""
    inside = find_operations(operation, lambda inner: inner != operation)
    return sum((_scalar(inner.name) for inner in inside), Cost())


def _scalar(name: str) -> Cost:
    return Cost(arithmetic.flops(name), arithmetic.transcendentals(name), arithmetic.integers(name))


def _looked_up(operation: ir.Operation) -> int:
    """Returns the bytes that one execution of the body reads at computed indices."""
    return sum(
        arithmetic.element_bytes(each.operation.results[0].type)
        for each in operation.regions[0].blocks[0].operations
        if each.operation.name == "tensor.extract"
    )


def _attention(operation: ir.Operation, sizes: Sizes) -> Costed:
    """Returns the cost of attention.

    It is two products, (queries, keys, depth) and (queries, keys, width), with a softmax between.
    """
    query, key, value = (sizes.shape(operand) for operand in list(operation.operands)[:3])
    scores = math.prod(query[:-1]) * key[-2]
    read = sum(_bytes(operand, sizes) for operand in list(operation.operands)[:-1])
    written = _bytes(operation.results[0], sizes)
    # Per score: scale, compare with the maximum, subtract it, sum, divide.
    flops = scores * (2 * query[-1] + 2 * value[-1] + 5)
    return Costed("contraction", Cost(flops, scores, 0, read, written))


def _is_empty(value: ir.Value) -> bool:
    return producer_named(value, "tensor.empty") is not None


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _bytes_of_element(value: ir.Value) -> int:
    return arithmetic.element_bytes(ir.ShapedType(value.type).element_type)


def _bytes(value: ir.Value, sizes: Sizes) -> Size:
    """Returns the bytes of a tensor; 0 for a scalar operand, which is not in memory."""
    return sizes.elements(value) * _bytes_of_element(value) if _is_tensor(value) else 0
