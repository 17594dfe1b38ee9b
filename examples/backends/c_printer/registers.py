"""Keeps the accumulators of reductions in registers.

Loops of linalg reductions load and store the result in each iteration. C compilers cannot move this
out of the loop, because they do not know which pointers overlap. MLIR's passes that do it take
tensors, vectors or affine loops only.
"""

from torch_mlir import ir
from torch_mlir.dialects import memref, scf

from c_printer.arena import CARRIERS, VIEWS

# Operations that end the call or have an effect that is not known here.
_OPAQUE = ("cf.assert", "func.call", "memref.copy", *CARRIERS[1:])


def keep_in_registers(function):
    """Rewrites loops that load and store one element in each iteration, innermost first."""
    loops = []

    def visit(operation):
        if operation.name == "scf.for":
            loops.append(operation)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    with function.context:
        for loop in loops:
            pair = _accumulator(loop)
            if pair:
                with loop.location:
                    _rewrite(loop, *pair)


def _accumulator(loop):
    """Returns the only load and the only store of an element that the loop updates, or None."""
    operations = []

    def visit(operation):
        operations.append(operation)
        return ir.WalkResult.ADVANCE

    block = loop.regions[0].blocks[0]
    for each in block.operations:
        each.operation.walk(visit)
    if any(each.name in _OPAQUE for each in operations) or not _runs(loop) or loop.results:
        return None
    accesses = [each for each in operations if each.name in ("memref.load", "memref.store")]
    stores = [each for each in accesses if each.name == "memref.store"]
    for store in stores:
        _, target, *indices = store.operands
        same = [each for each in accesses if _root(_memory(each)) == _root(target)]
        loads = [each for each in same if each.name == "memref.load"]
        if len(same) != 2 or len(loads) != 1 or not _in_block(store, loop):
            continue
        (load,) = loads
        if not _in_block(load, loop) or list(load.operands) != [target, *indices]:
            continue
        first = next(each.operation for each in block.operations if each.operation in same)
        if first == load and not any(_is_inside(each, operations, loop) for each in load.operands):
            return load, store
    return None


def _rewrite(loop, load, store):
    """Loads before the loop, stores after it, and carries the number through the iterations."""
    value, target, *indices = store.operands
    lower, upper, step = loop.operands
    block = loop.regions[0].blocks[0]
    with ir.InsertionPoint(loop):
        initial = memref.LoadOp(target, indices)
        new = scf.ForOp(lower, upper, step, [initial.result])
        memref.StoreOp(new.results[0], target, indices)
    # A store that does not use the load's value carries its own value all the same.
    load.results[0].replace_all_uses_with(new.inner_iter_args[0])
    block.arguments[0].replace_all_uses_with(new.induction_variable)
    value = store.operands[0]
    load.erase()
    store.erase()
    *moved, last = block.operations
    last.operation.erase()
    with ir.InsertionPoint(new.body):
        end = scf.YieldOp([value])
    for each in moved:
        each.operation.move_before(end.operation)
    loop.erase()


def _runs(loop):
    """Returns whether the loop has at least one iteration: otherwise, it must not load."""
    lower, upper = (_constant(each) for each in list(loop.operands)[:2])
    return lower is not None and upper is not None and lower < upper


def _constant(value):
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    return ir.IntegerAttr(owner.operation.attributes["value"]).value


def _memory(access):
    return access.operands[1 if access.name == "memref.store" else 0]


def _root(value):
    """Returns the buffer, or the name of the global, that a value is or is a view of.

    Different results stand for different memory.
    """
    while not isinstance(value.owner, ir.Block):
        operation = value.owner.operation
        if operation.name == "memref.get_global":
            return str(operation.attributes["name"])
        if operation.name not in VIEWS:
            break
        value = operation.operands[0]
    return value


def _in_block(operation, loop):
    return operation.parent.operation == loop


def _is_inside(value, operations, loop):
    """Returns whether a value is defined in the loop."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return owner.owner.operation in (loop, *operations)
    return owner.operation in operations
