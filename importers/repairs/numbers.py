"""Rewrites symbolic numbers to 0-d tensors, and assertions on tensors to numbers.

`x.item() < y.item()` compares two symbolic numbers, and `max(x.shape[0], y.shape[0])` computes one.
The torch dialect has few operators on numbers, and lowers fewer. Each of the others becomes an
operator on tensors, followed by `item`.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._guards import detect_fake_mode

from importers.decompositions import decomposition_table
from importers.decompositions.tracing import inline, origin_of, trace, tracing

aten = torch.ops.aten

_READS = frozenset({aten._local_scalar_dense.default, aten.item.default})
# IREE has no numbers of these types outside of tensors.
_NARROW = (torch.bfloat16, torch.float16)
_COMPARISONS = {
    operator.lt: torch.lt,
    operator.le: torch.le,
    operator.gt: torch.gt,
    operator.ge: torch.ge,
    operator.eq: torch.eq,
    operator.ne: torch.ne,
}


def _in_integers(rounding: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda x: rounding(x.double()).to(torch.int64)


def _extreme(of_tensors: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda x, y: of_tensors(*_promoted(x, y))


def _promoted(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    dtype = torch.promote_types(x.dtype, y.dtype)
    return x.to(dtype), y.to(dtype)


_ARITHMETIC: Mapping[Any, Callable[..., torch.Tensor]] = {
    operator.mod: torch.remainder,
    operator.pow: torch.pow,
    operator.abs: torch.abs,
    operator.and_: torch.bitwise_and,
    operator.or_: torch.bitwise_or,
    operator.xor: torch.bitwise_xor,
    abs: torch.abs,
    pow: torch.pow,
    operator.lshift: torch.bitwise_left_shift,
    operator.rshift: torch.bitwise_right_shift,
    round: _in_integers(torch.round),
    torch._sym_sqrt: lambda x: x.double().sqrt(),
    math.trunc: _in_integers(torch.trunc),
    math.floor: _in_integers(torch.floor),
    math.ceil: _in_integers(torch.ceil),
    torch.sym_float: lambda x: x.double(),
    torch.sym_int: _in_integers(torch.trunc),
    torch.sym_max: _extreme(torch.maximum),
    torch.sym_min: _extreme(torch.minimum),
    torch.sym_not: torch.logical_not,
    torch.sym_ite: lambda flag, x, y: torch.where(flag, *_promoted(x, y)),
}
# Exponents of powers that are computed as products.
_FEW_FACTORS = (1, 2, 3, 4)
# torch-mlir's importer has no form for these, whatever their operands are.
_LOGIC = frozenset({torch.sym_not, operator.and_, operator.or_, operator.xor})


def compute_numbers_as_tensors(graph: torch.fx.Graph) -> int:
    """Replaces operators on symbolic numbers that have no lowering; returns how many."""
    nodes = [node for node in graph.nodes if _is_wanted(node)]
    if not nodes:
        return 0
    with tracing(graph, decomposition_table()) as table:
        for node in nodes:
            _replace(graph, node, table)
    return len(nodes)


def _is_wanted(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    if node.op != "call_function":
        return False
    if node.target in _LOGIC and isinstance(value, (bool, torch.SymBool)):
        # An assertion earlier in the graph may imply the value, which is a constant then. The
        # operator may be the condition of that assertion, so it is computed nevertheless.
        return True
    if not isinstance(value, torch.types.py_sym_types):
        return False
    if node.target in _READS:
        return node.args[0].meta["val"].dtype in (torch.bool, *_NARROW)
    if node.target in _COMPARISONS:
        return any(isinstance(_value(x), (float, torch.SymFloat)) for x in node.args)
    return node.target in _ARITHMETIC


def _replace(graph: torch.fx.Graph, node: torch.fx.Node, table: Mapping) -> None:
    is_flag = isinstance(node.meta["val"], (bool, torch.SymBool))
    if node.target in _READS:
        operands, compute = [_read_by(node)], _wide
    else:
        # The second argument of `round` is None.
        given = [x for x in node.args if x is not None]
        operands = [_read_by(x) if _is_read(x) else x for x in given]
        compute = _computation(node)
    given = [x for x in operands if isinstance(x, torch.fx.Node)]

    def function(*values: Any) -> torch.Tensor:
        rest = iter(values)
        tensors = [
            _tensor(next(rest) if isinstance(x, torch.fx.Node) else x, node) for x in operands
        ]
        result = compute(*tensors)
        return result.to(torch.int64) if is_flag else result

    with graph.inserting_before(node):
        traced = trace(function, [_symbol(x) for x in given], table)
        result = inline(traced, given, graph, origin_of(node))
        number = graph.call_function(aten.item.default, (result,))
        number.meta = {**origin_of(node), "val": node.meta["val"]}
        if is_flag:
            # The importer does not support `item` of a boolean, so read an integer.
            fake_mode = detect_fake_mode(result.meta["val"])
            with fake_mode.shape_env.ignore_fresh_unbacked_symbols():
                number.meta["val"] = fake_mode.shape_env.create_unbacked_symint()
            flag = graph.call_function(operator.ne, (number, 0))
            flag.meta = {**origin_of(node), "val": node.meta["val"]}
            number = flag
    node.replace_all_uses_with(number)
    graph.erase_node(node)


def _computation(node: torch.fx.Node) -> Callable[..., torch.Tensor]:
    """Returns the function of tensors that computes a node with two numbers, or one."""
    if node.target in (pow, operator.pow) and node.args[1] in _FEW_FACTORS:
        # IREE refuses the code of general powers of integers: it has too many constants.
        return lambda x, _: functools.reduce(torch.mul, [x] * node.args[1])
    return _COMPARISONS.get(node.target) or _ARITHMETIC[node.target]


def _symbol(node: torch.fx.Node) -> Any:
    """Returns the value of a node, or a new symbol if it is a constant that a trace would fix."""
    value = node.meta["val"]
    if not isinstance(value, bool):
        return value
    shape_env = torch._guards.detect_fake_mode().shape_env
    with shape_env.ignore_fresh_unbacked_symbols():
        return shape_env.create_unbacked_symbool()


def _tensor(value: Any, node: torch.fx.Node) -> torch.Tensor:
    """Converts a number or a tensor of one element to a 0-d tensor of i64, f64 or bool."""
    if isinstance(value, torch.Tensor):
        value = value.reshape(())
        if value.dtype == torch.bool:
            return value
        return value.to(torch.float64 if value.is_floating_point() else torch.int64)
    if isinstance(value, (bool, torch.SymBool)):
        return torch.full((), value, dtype=torch.bool)
    is_float = isinstance(value, (float, torch.SymFloat))
    return torch.full((), value, dtype=torch.float64 if is_float else torch.int64)


def _wide(x: torch.Tensor) -> torch.Tensor:
    """Converts floats to f64, which represents them exactly; returns other tensors unchanged."""
    return x.double() if x.is_floating_point() else x


def _is_read(x: Any) -> bool:
    return isinstance(x, torch.fx.Node) and x.target in _READS


def _read_by(node: torch.fx.Node) -> torch.fx.Node:
    return node.args[0]


def _value(operand: Any) -> Any:
    return operand.meta["val"] if isinstance(operand, torch.fx.Node) else operand


def _is_symbolic(value: Any) -> bool:
    return isinstance(value, torch.types.py_sym_types)


# PyTorch's dead-code elimination keeps only the overload with a message.
torch.fx.node.has_side_effect(aten._assert_async.default)
_ASSERTIONS = frozenset({aten._assert_async.default, aten._assert_async.msg})


def assert_numbers(graph: torch.fx.Graph) -> int:
    """Replaces tensor assertions by assertions on the number in the tensor; returns how many."""
    nodes = [node for node in graph.nodes if node.target in _ASSERTIONS]
    for node in nodes:
        tensor, message = (*node.args, "Assertion is failed")[:2]
        fake_mode = detect_fake_mode(tensor.meta["val"])
        with graph.inserting_before(node):
            wide = graph.call_function(aten.ne.Scalar, (tensor, 0))
            with fake_mode:
                wide.meta = {**origin_of(node), "val": tensor.meta["val"].ne(0)}
            number = graph.call_function(
                torch.ops.prims.convert_element_type.default, (wide, torch.int64)
            )
            with fake_mode:
                number.meta = {**origin_of(node), "val": wide.meta["val"].to(torch.int64)}
            read = graph.call_function(aten.item.default, (number,))
            # Ignore the new symbol: a later trace would expect it among its own results.
            with fake_mode.shape_env.ignore_fresh_unbacked_symbols():
                value = fake_mode.shape_env.create_unbacked_symint()
            read.meta = {**origin_of(node), "val": value}
            holds = graph.call_function(operator.eq, (read, 1))
            holds.meta = {**origin_of(node), "val": value == 1}
            check = graph.call_function(aten._assert_scalar.default, (holds, message))
            check.meta = {**origin_of(node), "val": None}
        graph.erase_node(node)
    return len(nodes)
