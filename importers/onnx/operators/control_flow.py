"""Lowerings of branches and loops, whose bodies are graphs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
import torch
from torch._higher_order_ops.cond import cond_op
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.fx.experimental.symbolic_shapes import statically_known_true

from importers.loops import UNROLLED, apart, element, repeated
from importers.onnx.element_types import dtype_of
from importers.onnx.node import Node, inside
from importers.onnx.registry import operator
from importers.onnx.value import NeedsValue, Value, known_array, numbers_of

Tensor = torch.Tensor
# A loop whose body needs its values during the capture is unrolled up to this many times.
_MOST_UNROLLED = 64


@operator("If")
def if_(node: Node, condition: Tensor) -> tuple[Value, ...]:
    """Lowers `If`. If the condition is not known, the program contains both branches."""
    branches = (node.get("then_branch"), node.get("else_branch"))
    value = node.values[0]
    if value.known:
        return tuple(node.call(branches[0 if node.number(0) else 1], ()))
    outer = node.from_outside(*branches)
    tensors = tuple(value.tensor() for value in outer.values())
    functions = [partial(_branch, node, graph, outer) for graph in branches]
    if get_proxy_mode() is None:
        # Run both: the capture traces both, and each may need values fixed.
        both = [function(*tensors) for function in functions]
        if any(a.dim() != b.dim() for a, b in zip(*both, strict=True)):
            raise node.refuse("with branches that return tensors of different ranks")
        results = both[0 if bool(condition) else 1]
    else:
        results = cond_op(condition.reshape(()), *functions, apart(tensors))
    return tuple(Value(each, sources=value.sources) for each in results)


def _branch(
    node: Node, graph: onnx.GraphProto, outer: dict[str, Value], *tensors: Tensor
) -> tuple[Tensor, ...]:
    values = inside(outer, dict(zip(outer, tensors, strict=True)))
    # A branch may not return one of its operands.
    return tuple(value.tensor().clone() for value in node.call(graph, (), values))


@operator("Scan")
def scan(node: Node, *_inputs: Tensor) -> tuple[Tensor | Value, ...]:
    """Lowers `Scan`: runs a graph on slices of some inputs, with the others as state."""
    body, count = node.get("body"), node.get("num_scan_inputs")
    values = list(node.values)
    batched = node.opset < 9
    if batched:
        # The first input has the lengths of sequences.
        if values[0] is not None:
            raise node.refuse("with sequence lengths")
        values = values[1:]
    states, scanned = values[:-count], values[-count:]
    backwards = node.get("directions" if batched else "scan_input_directions") or [0] * count
    axes = [0] * count if batched else node.get("scan_input_axes") or [0] * count
    outputs = len(node.proto.output) - len(states)
    out_axes = node.get("scan_output_axes") or [0] * outputs
    out_backwards = node.get("scan_output_directions") or [0] * outputs
    xs = [
        value.tensor().flip(axis + batched) if back else value.tensor()
        for value, axis, back in zip(scanned, axes, backwards, strict=True)
    ]

    outer = node.from_outside(body)
    around = {name: value.tensor() for name, value in outer.items()}

    def run(start: Sequence[Tensor], slices: Sequence[Tensor]) -> list[Tensor]:
        steps = slices[0].shape[axes[0]]

        def step(number: Tensor | int, state: Sequence[Tensor], outside: Any):
            slices, around = outside
            parts = [element(x, number, axis) for x, axis in zip(slices, axes, strict=True)]
            given = node.call(body, [Value(t) for t in (*state, *parts)], inside(outer, around))
            tensors = [value.tensor() for value in given]
            return tensors[: len(states)], tensors[len(states) :]

        state, collected = repeated(steps, step, start, (list(slices), around))
        for i, stack in enumerate(collected):
            stack = stack.flip(0) if out_backwards[i] else stack
            collected[i] = stack.movedim(0, out_axes[i]) if out_axes[i] else stack
        return [*state, *collected]

    start = [value.tensor() for value in states]
    if not batched:
        return tuple(run(start, xs))
    each = [run([s[i] for s in start], [x[i] for x in xs]) for i in range(xs[0].shape[0])]
    return tuple(torch.stack(parts) for parts in zip(*each, strict=True))


@operator("Loop")
def loop(node: Node, _count: Tensor | None, _condition: Tensor | None, *_state: Tensor):
    """Lowers `Loop`, with a trip count that is known during the capture, or is a size."""
    body = node.get("body")
    count = node.number(0) if node.has(0) else None
    states = list(node.values[2:])
    is_size = count is not None and not isinstance(count, int)
    constant = _constant_condition(node, body)
    if is_size and not constant:
        raise node.refuse("with a dynamic number of iterations and a computed condition")
    if is_size or (count is not None and constant and count > UNROLLED):
        try:
            return _counted(node, body, count, states)
        except _ChangedShape:
            if is_size:
                raise node.refuse(
                    "with a dynamic number of iterations and a state that changes its shape"
                ) from None
    goes_on = node.number(1, True) if node.has(1) else True
    collected: list[list[Value]] = []
    number = 0
    while goes_on and (count is None or number < count):
        if number >= _MOST_UNROLLED:
            raise node.refuse(f"with more than {_MOST_UNROLLED} iterations")
        given = node.call(body, [_number(number), _flag(goes_on), *states])
        condition, states = given[0], given[1 : 1 + len(states)]
        collected.append(given[1 + len(states) :])
        number += 1
        goes_on = _read(node, condition) if count is None or number < count else False
    stacks = [torch.stack([v.tensor() for v in each]) for each in zip(*collected, strict=True)]
    if not collected:
        stacks = [_no_steps(node, each) for each in body.output[1 + len(states) :]]
    return (*states, *stacks)


def _no_steps(node: Node, output: onnx.ValueInfoProto) -> Tensor:
    """Returns the scan output of a loop without iterations."""
    kind = output.type.tensor_type
    if not all(size.HasField("dim_value") for size in kind.shape.dim):
        raise node.refuse("without iterations but with a scan output of unknown size")
    shape = (0, *(size.dim_value for size in kind.shape.dim))
    return torch.empty(shape, dtype=dtype_of(kind.elem_type, node.operator))


class _ChangedShape(Exception):
    """The state of a loop has another shape after a step."""


def _counted(
    node: Node, body: onnx.GraphProto, count: int | torch.SymInt, states: list[Value]
) -> tuple[Tensor, ...]:
    """Lowers a `Loop` whose condition is always true to a loop of the program.

    Raises:
        _ChangedShape: the state does not keep its shapes.
    """
    outer = node.from_outside(body)
    around = {name: value.tensor() for name, value in outer.items()}

    def step(number: Tensor | int, state: Sequence[Tensor], around: Any):
        first = _number(number) if isinstance(number, int) else Value(number.reshape(()))
        given = node.call(body, [first, _flag(True), *map(Value, state)], inside(outer, around))
        tensors = [value.tensor() for value in given[1:]]
        if not all(map(_may_have_equal_shapes, state, tensors)):
            raise _ChangedShape
        return tensors[: len(states)], tensors[len(states) :]

    state, collected = repeated(count, step, [value.tensor() for value in states], around)
    return (*state, *collected)


def _may_have_equal_shapes(before: Tensor, after: Tensor) -> bool:
    return before.dim() == after.dim() and not any(
        statically_known_true(old != new)
        for old, new in zip(before.shape, after.shape, strict=True)
    )


def _constant_condition(node: Node, body: onnx.GraphProto) -> bool:
    """Returns True if the loop condition is true in every step, regardless of the data."""
    name, given = body.output[0].name, body.input[1].name
    while True:
        source = next((each for each in body.node if name in each.output), None)
        if source is None:
            return name == given and (not node.has(1) or bool(node.number(1)))
        if source.op_type != "Identity":
            return False
        name = source.input[0]


def _read(node: Node, condition: Value) -> bool:
    if not condition.known:
        raise NeedsValue(condition.sources, f"the condition of {node.operator}")
    return bool(numbers_of(condition.data)[0])


def _number(value: int) -> Value:
    return known_array(np.array(value, np.int64))


def _flag(value: bool) -> Value:
    return known_array(np.array(value))
