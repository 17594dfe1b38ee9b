"""Computes ONNX operators on sizes of tensors, which may be symbolic, as Python numbers.

Models compute shapes for `Reshape`, `Expand` and `Slice` with a few operators on the results of
`Shape`. If these were tensors, the tracer could not tell that they are sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from importers.onnx.node import Node
from importers.onnx.value import numbers_of

Arrays = list[np.ndarray]


def computed_sizes(node: Node) -> np.ndarray | list[np.ndarray] | None:
    """Returns the result of a node on sizes and known integers; None if there is no rule for it."""
    rule = _RULES.get(node.proto.op_type)
    if rule is None:
        return None
    arrays = []
    for value in node.values:
        if value is None:
            arrays.append(None)
            continue
        data = value.data
        if not value.is_sizes:
            if data.is_floating_point() or data.is_complex():
                return None
            data = np.array([*numbers_of(data), None], dtype=object)[:-1].reshape(data.shape)
        arrays.append(data)
    return rule(node, arrays)


def _array(values: object) -> np.ndarray:
    return np.array(values, dtype=object)


def _elementwise(function: Callable) -> Callable:
    def rule(_node: Node, arrays: Arrays) -> np.ndarray:
        result = np.frompyfunc(function, 2, 1)(*arrays)
        return _array(result)

    return rule


def _quotient(a: int, b: int) -> int:
    """Truncates quotients, as ONNX does. For symbolic sizes, which are not negative, `//` does the
    same."""
    return a // b if not (isinstance(a, int) and isinstance(b, int)) else math.trunc(a / b)


def _concat(node: Node, arrays: Arrays) -> np.ndarray:
    return np.concatenate(arrays, axis=node.get("axis"))


def _gather(node: Node, arrays: Arrays) -> np.ndarray | None:
    data, index = arrays
    if not all(isinstance(i, int) for i in index.flat):
        return None
    return _array(np.take(data, index.astype(np.int64), axis=node.get("axis", 0)))


def _slice(node: Node, arrays: Arrays) -> np.ndarray | None:
    data, *_ = arrays
    if data.ndim != 1:
        return None
    start, stop = node.integers(1, "starts")[0], node.integers(2, "ends")[0]
    step = (node.integers(4) or [1])[0]
    if not all(isinstance(n, int) for n in (start, stop, step)):
        return None
    stop = None if step < 0 and stop < -len(data) else stop
    return data[start:stop:step]


def _reshape(node: Node, arrays: Arrays) -> np.ndarray | None:
    shape = node.integers(1)
    if not all(isinstance(n, int) for n in shape) or 0 in shape:
        return None
    return arrays[0].reshape(shape)


def _unsqueeze(node: Node, arrays: Arrays) -> np.ndarray:
    axes = node.integers(1, "axes")
    return np.expand_dims(arrays[0], tuple(axes))


def _squeeze(node: Node, arrays: Arrays) -> np.ndarray:
    axes = node.integers(1, "axes")
    return _array(np.squeeze(arrays[0], None if axes is None else tuple(axes)))


def _cast(node: Node, arrays: Arrays) -> np.ndarray | None:
    # The codes of INT32 and INT64.
    return arrays[0] if node.get("to") in (6, 7) else None


def _product(node: Node, arrays: Arrays) -> np.ndarray | None:
    if arrays[0].ndim != 1:
        return None
    result = math.prod(arrays[0].flat)
    return _array([result] if node.get("keepdims", 1) else result)


def _split(node: Node, arrays: Arrays) -> list[np.ndarray] | None:
    sizes = node.integers(1, "split")
    if sizes is None or not all(isinstance(n, int) for n in sizes):
        return None
    return np.split(arrays[0], np.cumsum(sizes)[:-1], axis=node.get("axis", 0))


_RULES: dict[str, Callable[[Node, Arrays], np.ndarray | list[np.ndarray] | None]] = {
    "Add": _elementwise(lambda a, b: a + b),
    "Sub": _elementwise(lambda a, b: a - b),
    "Mul": _elementwise(lambda a, b: a * b),
    "Div": _elementwise(_quotient),
    "Concat": _concat,
    "Gather": _gather,
    "Slice": _slice,
    "Reshape": _reshape,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Cast": _cast,
    "Identity": lambda _node, arrays: arrays[0],
    "ReduceProd": _product,
    "Split": _split,
}
