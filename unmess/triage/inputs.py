"""Makes the inputs of a program smaller, and replaces recorded values by generated ones.

This module does not import PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from unmess.triage.trace import Call, Trace, Value

_FLOATS = ("float64", "float32", "float16", "bfloat16", "complex64", "complex128")


def simplest(trace: Trace) -> Trace:
    """Returns the program with sizes up to 2, and generated values."""
    for size in sorted({size for v in trace.inputs for size in v.shape or ()}, reverse=True):
        trace = _resized(trace, size, 2) if size > 3 else trace
    return replace(trace, inputs=tuple(map(_simple, trace.inputs)))


def shrunk(trace: Trace, fails: Callable[[Trace], bool]) -> Trace:
    """Returns a program with smaller sizes.

    All dimensions of the same size, and integers of this size in arguments of calls, change
    together.

    Args:
        fails: whether a program is accepted.
    """
    sizes = sorted({size for v in trace.inputs for size in v.shape or ()}, reverse=True)
    for size in sizes:
        # Most dimensions can be 2. The others are halved as often as possible.
        smaller = _resized(trace, size, 2) if size > 3 else trace
        if size > 3 and fails(smaller):
            trace = smaller
            continue
        while size > 5:
            smaller = _resized(trace, size, size // 2)
            if not fails(smaller):
                break
            trace, size = smaller, size // 2
    return trace


def _resized(trace: Trace, old: int, new: int) -> Trace:
    inputs = tuple(_sliced(value, old, new) for value in trace.inputs)
    calls = tuple(_with_size(call, old, new) for call in trace.calls)
    return replace(trace, inputs=inputs, calls=calls)


def _sliced(value: Value, old: int, new: int) -> Value:
    if not value.shape or old not in value.shape:
        return value
    shape = tuple(new if size == old else size for size in value.shape)
    slices = ", ".join(f":{size}" for size in shape)
    # The slice of an earlier slice: its base is the stored tensor.
    expression = f"{_stored(value)}[{slices}].clone()"
    return replace(value, shape=shape, expression=expression, literal=None)


def _stored(value: Value) -> str:
    return f"torch.load({value.file!r})" if value.file else value.expression


def _with_size(call: Call, old: int, new: int) -> Call:
    def changed(argument: Any) -> Any:
        if type(argument) in (list, tuple):
            return type(argument)(map(changed, argument))
        return new if type(argument) is int and argument == old else argument

    kwargs = {name: changed(argument) for name, argument in call.kwargs.items()}
    return replace(call, args=changed(call.args), kwargs=kwargs)


def generated(trace: Trace, fails: Callable[[Trace], bool]) -> Trace:
    """Returns a program whose tensors are generated, or written out, where that is possible.

    Args:
        fails: whether a program is accepted.
    """
    for simple in (_simple, _ones):
        changed = replace(trace, inputs=tuple(map(simple, trace.inputs)))
        if changed != trace and fails(changed):
            return changed
    for place, value in enumerate(trace.inputs):
        texts = (_simple(value), _ones(value), _written(value))
        for text in dict.fromkeys(texts):
            inputs = (*trace.inputs[:place], text, *trace.inputs[place + 1 :])
            changed = replace(trace, inputs=inputs)
            if changed != trace and fails(changed):
                trace = changed
                break
    return trace


def _simple(value: Value) -> Value:
    """Returns normally distributed numbers, or zeros for integers."""
    return _filled(value, "zeros" if value.dtype not in _FLOATS else "randn")


def _ones(value: Value) -> Value:
    return _filled(value, "ones")


def _written(value: Value) -> Value:
    return value if value.literal is None else replace(value, expression=value.literal, file=None)


def _filled(value: Value, function: str) -> Value:
    if value.shape is None:
        return value
    sizes = ", ".join(map(str, value.shape)) or "()"
    dtype = "" if value.dtype == "float32" else f", dtype=torch.{value.dtype}"
    return replace(value, expression=f"torch.{function}({sizes}{dtype})", literal=None, file=None)
