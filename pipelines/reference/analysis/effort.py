"""Estimates the work of a program, to decide how much to optimize it."""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.contraction import find_contraction, loop_sizes
from pipelines.ir.modules import find_operations
from pipelines.ir.values import constant_integer

# Operations that are counted as work. An insertion of an element is a part of a sort's loops.
_COPIES = ("memref.copy", "tensor.insert_slice", "tensor.pad")
_COUNTED = ("linalg.generic", "tensor.insert", "tm_tensor.scan", "tm_tensor.scatter", *_COPIES)
# Average number of innermost iterations per compiled operation and call up to which optimization
# takes longer than it saves in a hundred calls. Equal operations are compiled once, and compiled
# programs are cached. LLVM's level 2 takes 5 to 10 ms more for an operation, and saves 2 to 5 ns in
# an iteration. Without it, a linear layer of 131,072 iterations takes 6 times as long.
_LITTLE = 16_384
# With level 3, loading a model takes up to 1.5 times as long, and its code is as fast.
_OPTIMIZED = 2
# Iterations below which plain loops take no longer to run than vector code takes to compile.
_FEW = 1 << 18
# An attribute of an operation on a part of the data, which one of several threads computes.
PART = "unmess.part"
# Minimum work of a part. Threads wait actively between the operations of a call, so handing a part
# to one of them takes little time.
ENOUGH = 1 << 14
# Number of steps of a contraction that take as long as one iteration of another operation: if
# vector registers reuse each element, and for depthwise convolutions and products with a vector,
# which read an element for each step.
_STEPS, _STEPS_WITHOUT_REUSE = 32, 2
# Minimum number of rows, and of columns, with which elements are reused.
_REUSED = 4


def optimization_level(module: ir.Module) -> int:
    """Returns LLVM's optimization level for a module whose linalg operations are all generic.

    Counts the iterations of linalg and tm_tensor operations, and of copies and sorts. Dynamic
    sizes and trip counts count as infinite. A `scf.while` counts once.
    """
    with module.context:
        counted = find_operations(module, lambda each: each.name in _COUNTED)
        total = sum(map(_iterations, counted))
        # Copies take little time to optimize, and may be none: the result is written in its place.
        compiled = {_form(each) for each in counted if each.name not in _COPIES}
    return 0 if total <= _LITTLE * max(len(compiled), 1) else _OPTIMIZED


def _iterations(operation: ir.Operation) -> float:
    """Returns the number of iterations in one run of an operation that is counted."""
    if operation.name == "linalg.generic":
        return computed_elements(operation)
    if operation.name == "tensor.insert":
        times = _repetitions(operation)
        if math.isinf(times):
            # The loops of a sort insert each element of a row, but their trip counts are unknown.
            return _elements(operation.operands[1]) * _repetitions(operation, of_unknown=1)
        return times
    value = operation.results[0] if operation.name == "tensor.pad" else operation.operands[0]
    return _elements(value) * _repetitions(operation)


def _turns(generic: ir.Operation) -> float:
    """Returns the product of a linalg operation's loop ranges; infinity if one is unknown."""
    return math.prod(math.inf if size is None else size for size in loop_sizes(generic))


def computed_elements(generic: ir.Operation) -> float:
    """Returns how often the body of a linalg operation runs; infinity if that is unknown."""
    return _turns(generic) * _repetitions(generic)


def _elements(value: ir.Value) -> float:
    """Returns the number of elements of a tensor or memref; infinity if it is dynamic."""
    kind = ir.ShapedType(value.type)
    return math.prod(kind.shape) if kind.has_static_shape else math.inf


def _form(operation: ir.Operation) -> tuple:
    """Returns a key that is equal for operations that share a compiled function, as a rule."""
    types = tuple(str(operand.type) for operand in operation.operands)
    if operation.name != "linalg.generic":
        return operation.name, types
    body = tuple(each.name for each in operation.regions[0].blocks[0].operations)
    return str(operation.attributes["indexing_maps"]), types, body


def _repetitions(operation: ir.Operation, of_unknown: float = math.inf) -> float:
    """Returns the product of the trip counts of the loops around an operation.

    Args:
        of_unknown: counts for a loop whose bounds are not constant.
    """
    repetitions = 1.0
    parent = operation.parent
    while parent is not None and parent.name != "builtin.module":
        if parent.operation.name == "scf.for":
            trips = _trips(parent.operation)
            repetitions *= of_unknown if trips is None else trips
        elif parent.operation.name == "scf.forall":
            repetitions *= math.prod(parent.operation.attributes["staticUpperBound"])
        parent = parent.operation.parent
    return repetitions


def _trips(loop: ir.Operation) -> int | None:
    """Returns the trip count of a loop; None if its bounds are not constant."""
    bounds = [constant_integer(value) for value in list(loop.operands)[:3]]
    if None in bounds:
        return None
    start, end, step = bounds
    return max(-(-(end - start) // step), 0)


def calls_by_function(module: ir.Module) -> dict[str, float]:
    """Returns how often each function is called at most, from one call site, in one run.

    Functions that no `func.call` calls are missing.
    """
    sites: dict[str, list[ir.Operation]] = {}
    with module.context:
        for call in find_operations(module, lambda each: each.name == "func.call"):
            name = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
            sites.setdefault(name, []).append(call)
        return {name: max(map(_repetitions, calls)) for name, calls in sites.items()}


def work(generic: ir.Operation, of_dynamic: int = 1) -> float:
    """Estimates the time of an operation, in iterations of an elementwise operation.

    Args:
        of_dynamic: counts for a dynamic size. It is regarded as large enough to reuse elements.
    """
    sizes = loop_sizes(generic)
    turns = math.prod(of_dynamic if size is None else size for size in sizes)
    found = find_contraction(generic)
    if found is None:
        return turns
    uses = min(found.extent(side) for side in (found.rows, found.columns))
    return turns / (_STEPS if uses >= _REUSED else _STEPS_WITHOUT_REUSE)


def deserves_schedule(generic: ir.Operation, calls: float = 1) -> bool:
    """Returns whether an operation is large enough for vector code of its own.

    It is if several threads may share it. Vector code and plain loops round differently, so a part
    must have vector code if and only if the whole operation has it on one thread.
    """
    is_shared = PART in generic.attributes or work(generic) >= 2 * ENOUGH
    return is_shared or _turns(generic) * calls >= _FEW
