"""Runs a loop over small steps, such as those of a recurrent layer, in one dispatch.

IREE runs a loop on the host. Each step is then several dispatches, and a copy of all carried
tensors, including the results of earlier steps: 35 µs for a step that computes for 2 µs. In one
dispatch, the loop is part of the kernel.

The kernel must not allocate memory, so the results of a step must be in place:

- The state is carried as two tensors in one. A step reads one of them and writes the other.
- The elementwise operations of a step become one operation, behind its matrix product.

One workgroup runs the whole loop, because a step reads all results of the step before.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import scf
from pipelines.ir.loops import Slice, index
from pipelines.ir.modules import find_operations
from pipelines.ir.tensor_ops import empty
from pipelines.iree.dispatch_region import dispatch
from pipelines.iree.loop_dispatch.plan import Plan, plan_for
from pipelines.iree.loop_dispatch.step import packed_matrix, parity, step
from pipelines.iree.loops import is_unsupported
from pipelines.pipeline import Step


def dispatch_loops(module: ir.Module) -> None:
    """Moves loops over small steps to dispatches of their own. Rewrites `linalg` in place.

    The module's context must allow unregistered dialects: a dispatch is an operation of IREE.
    """
    with module.context:
        for function in find_operations(module, lambda each: each.name == "func.func"):
            loops = find_operations(function, lambda each: each.name in ("scf.for", "scf.while"))
            plans = {loop: plan_for(loop) for loop in loops}
            # `rewrite_loops` lowers all loops of a function or none.
            if not any(plan is None and is_unsupported(loop) for loop, plan in plans.items()):
                for loop, plan in plans.items():
                    if plan is not None:
                        with ir.InsertionPoint(loop), loop.location:
                            _rewrite(loop, plan)


def _rewrite(loop: ir.Operation, plan: Plan) -> None:
    """Creates the dispatch at the insertion point and erases the loop."""
    end, inits = loop.operands[1], list(loop.operands)[3:]
    plan.ranges.check(end)
    states = [number for number in range(len(inits)) if number not in plan.collected]
    kinds = [_two(init.type) if n in states else init.type for n, init in enumerate(inits)]
    # Only the number of rows may be dynamic.
    sizes = [end for kind in kinds if not ir.RankedTensorType(kind).has_static_shape]
    packed = packed_matrix(plan.product)

    def run() -> list[ir.Value]:
        begin = [
            _with_state(init) if n in states else _to_fill(init, end)
            for n, init in enumerate(inits)
        ]
        new = scf.ForOp(index(0), end, index(1), begin)
        with ir.InsertionPoint(new.body):
            scf.YieldOp(step(loop, plan, packed, new.induction_variable, new.inner_iter_args))
        return list(new.results)

    results = dispatch(kinds, sizes, run)
    last = parity(end)
    for number, (old, result) in enumerate(zip(loop.results, results, strict=True)):
        final = Slice.at(result, {0: last}).take(result) if number in states else result
        old.replace_all_uses_with(final)
    loop.erase()


def _two(kind: ir.Type) -> ir.RankedTensorType:
    tensor = ir.RankedTensorType(kind)
    return ir.RankedTensorType.get([2, *tensor.shape], tensor.element_type)


def _with_state(init: ir.Value) -> ir.Value:
    """Creates the tensor of the state and of the next state, which is not initialized."""
    kind = _two(init.type)
    both = empty(list(kind.shape), kind.element_type)
    return Slice.at(both, {0: 0}).put(init, both)


def _to_fill(init: ir.Value, end: ir.Value) -> ir.Value:
    """Creates the tensor to which the steps add rows."""
    kind = ir.RankedTensorType(init.type)
    _, *row = kind.shape
    return empty([end if kind.is_dynamic_dim(0) else kind.shape[0], *row], kind.element_type)


DISPATCH_LOOPS = Step(
    "iree-dispatch-loops",
    "run a loop over small steps in one dispatch instead of several dispatches for each step",
    dispatch_loops,
)
