"""Traces a function of tensors into a graph of operators that the importer takes."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._export.utils import (
    _collect_all_valid_cia_ops_for_aten_namespace,
    _is_preservable_cia_op,
    _special_op_to_preserve_cia,
)
from torch._guards import detect_fake_mode
from torch._higher_order_ops.effects import _register_effectful_op
from torch._library.effects import EffectType
from torch._ops import OpOverload
from torch._subclasses.fake_impls import op_implementations_dict
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._subclasses.functional_tensor import FunctionalTensorMode, dispatch_functionalize
from torch.export import exported_program
from torch.export.exported_program import _override_composite_implicit_decomp
from torch.fx._lazy_graph_module import _use_lazy_graph_module
from torch.fx._symbolic_trace import _Patcher
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree


@contextlib.contextmanager
def tracing(graph: torch.fx.Graph, table: Mapping) -> Iterator[dict]:
    """Sets up the state in which `trace` works on values of a program's graph.

    Args:
        table: as of `decomposition_table`.

    Yields:
        The part of `table` for `trace`. The state itself handles composite operators.
    """
    divided = _divided(table)
    # If a program has no inputs, only the values that it creates have the fake mode.
    values = [node.meta.get("val") for node in graph.nodes]
    fake_mode = detect_fake_mode(pytree.tree_leaves(values)) or FakeTensorMode()
    # The Python dispatcher has decompositions of composite operators that the C++ one lacks.
    with (
        torch.no_grad(),
        fake_mode,
        enable_python_dispatcher(),
        _overridden(divided.composite),
        without_effects(),
        # Tracers replace methods of `torch.nn.Module`, to record calls of modules. That of
        # `make_fx` does not record them. Each replacement clears a cache of all subclasses, which
        # takes longer than a small trace.
        mock.patch.object(_Patcher, "patch_method", _keep_method),
        # Nothing calls the graphs of traces, so they need not become Python code.
        _use_lazy_graph_module(True),
    ):
        yield divided.python


def _keep_method(patcher: _Patcher, owner: type, name: str, *_: object, **__: object) -> None:
    """Replaces `_Patcher.patch_method`, and does nothing."""


@dataclass(frozen=True)
class _Divided:
    """A table, and its parts for composite operators and for the others."""

    table: Mapping
    operators: frozenset[OpOverload]
    composite: dict[OpOverload, Callable[..., Any]]
    python: dict[OpOverload, Callable[..., Any]]


_latest: _Divided | None = None


def _divided(table: Mapping) -> _Divided:
    """Returns the parts of a table. Caches them, because most captures use the same table."""
    global _latest
    operators = composite_operators()
    if _latest is None or _latest.operators is not operators or _latest.table != table:
        composite = {op: table.get(op, _special_op_to_preserve_cia) for op in operators}
        python = {op: function for op, function in table.items() if op not in composite}
        _latest = _Divided(dict(table), operators, composite, python)
    return _latest


@contextlib.contextmanager
def without_effects() -> Iterator[None]:
    """Unregisters the effect of `_linalg_check_errors`, and registers it again at the end.

    Functionalization requires tokens for effects. The operator becomes an assertion, which needs
    none.
    """
    operator = "aten::_linalg_check_errors"
    _register_effectful_op(operator, None)
    try:
        yield
    finally:
        _register_effectful_op(operator, EffectType.ORDERED)


def _composite_operators() -> set[OpOverload]:
    """Returns the operators of `torch._export.utils._collect_all_valid_cia_ops`."""
    return set(composite_operators())


def composite_operators() -> frozenset[OpOverload]:
    """Returns the composite operators of aten and of all libraries.

    The same object is returned until a library adds operators or registers kernels.
    """
    return _composite_operators_of(_registrations())


def _registrations() -> tuple:
    """Returns a key that changes when a library adds operators or registers kernels.

    An operator of a library is in `torch.ops` once it is used, as each one in a graph is.
    """
    names = sorted(set(torch.ops._dir) - {"aten"})
    namespaces = ((name, getattr(torch.ops, name)) for name in names)
    sizes = tuple(
        (name, len(namespace._dir))
        for name, namespace in namespaces
        if isinstance(namespace, torch._ops._OpNamespace)
    )
    return sizes, frozenset(torch.library._impls)


@functools.lru_cache(maxsize=1)
def _composite_operators_of(registrations: tuple) -> frozenset[OpOverload]:
    """Returns the composite operators of aten and of the namespaces in `registrations`.

    PyTorch's function queries C++ for every namespace in each call, which takes longer than the
    rest of the capture of a small program. This one only queries it for aten.
    """
    operators = set(_collect_all_valid_cia_ops_for_aten_namespace())
    for name, _ in registrations[0]:
        namespace = getattr(torch.ops, name)
        for packet in namespace:
            overloads = getattr(namespace, packet).op_overloads()
            operators.update(filter(_is_preservable_cia_op, overloads))
    return frozenset(operators)


class _Registered:
    """The kernels of a composite operator, outside and inside `_overridden`."""

    def __init__(self, function: Callable[..., Any], outside: Mapping, operator: OpOverload):
        """Records an operator while it is overridden.

        Args:
            function: the decomposition of the operator.
            outside: the kernels of the operator before it was overridden.
            operator: the operator.
        """
        self.operator = operator
        self.function = function
        self.outside = outside
        self.inside = dict(operator.py_kernels)
        self.fake = op_implementations_dict.get(operator)


_registered: dict[OpOverload, _Registered] = {}


@contextlib.contextmanager
def _overridden(composite: Mapping[OpOverload, Callable[..., Any]]) -> Iterator[None]:
    """Applies `_override_composite_implicit_decomp`, and repeats only what has changed.

    That function registers thirty kernels for each of five hundred operators. This takes longer
    than the rest of the capture of a small program.
    """
    new = {
        operator: function
        for operator, function in composite.items()
        if (known := _registered.get(operator)) is None
        or known.function is not function
        or known.outside != operator.py_kernels
    }
    if new:
        outside = {operator: dict(operator.py_kernels) for operator in new}
        with _override_composite_implicit_decomp(new):
            for operator, function in new.items():
                _registered[operator] = _Registered(function, outside[operator], operator)
    inside = [_registered[operator] for operator in composite]
    own = [known.operator.py_kernels for known in inside]
    fake = {
        known.operator: known.fake
        for known in inside
        if known.operator not in op_implementations_dict
    }
    try:
        # Replace the dictionaries themselves, which is faster than copying their items.
        for known in inside:
            _replace_kernels(known.operator, known.inside)
        op_implementations_dict.update(fake)
        yield
    finally:
        for operator in fake:
            op_implementations_dict.pop(operator, None)
        for known, kernels in zip(inside, own, strict=True):
            _replace_kernels(known.operator, kernels)


@contextlib.contextmanager
def fast_overrides() -> Iterator[None]:
    """Makes `ExportedProgram.run_decompositions` override composite operators as `tracing` does.

    Without this, each call queries and overrides all of them again, which takes longer than the
    rest of the capture of a small program.
    """
    with (
        mock.patch.object(exported_program, "_collect_all_valid_cia_ops", _composite_operators),
        mock.patch.object(exported_program, "_override_composite_implicit_decomp", _overridden),
    ):
        yield


def _replace_kernels(operator: OpOverload, kernels: dict) -> None:
    operator.py_kernels = kernels
    operator._dispatch_cache.clear()


def trace(function: Callable[..., Any], values: Sequence[Any], table: Mapping) -> torch.fx.Graph:
    """Returns the functional graph of `function` on fake tensors or symbolic numbers.

    Call it inside `tracing`.
    """
    values = _distinct([_resolved(value) for value in values])
    if any(_is_symbolic(value) for value in values):
        # `torch.func.functionalize` queries sizes in C++, which turns them into constants.
        functional = dispatch_functionalize(function, FunctionalTensorMode())
    else:
        functional = torch.func.functionalize(function, remove="mutations")
    return make_fx(functional, decomposition_table=dict(table))(*values).graph


def _resolved(value: Any) -> Any:
    """Resolves a lazy conjugation or negation of a tensor; returns other values unchanged.

    A program receives its arguments and weights already conjugated. With the bit, the trace would
    conjugate them again.
    """
    return value.resolve_conj().resolve_neg() if isinstance(value, torch.Tensor) else value


def _distinct(values: Sequence[Any]) -> list[Any]:
    """Returns the values with repeated tensors detached, so that none occurs twice.

    The tracer identifies an operand by its fake tensor. Nodes that were copied from one trace share
    its tensors.
    """
    seen: set[int] = set()
    distinct = []
    for value in values:
        repeated = isinstance(value, torch.Tensor) and id(value) in seen
        distinct.append(value.detach() if repeated else value)
        seen.add(id(value))
    return distinct


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return any(isinstance(size, torch.SymInt) for size in value.shape)
    return isinstance(value, torch.types.py_sym_types)


def inline(
    traced: torch.fx.Graph,
    operands: Sequence[torch.fx.Node],
    into: torch.fx.Graph,
    origin: Mapping[str, Any],
    root: torch.nn.Module | None = None,
) -> Any:
    """Copies a traced graph to the insertion point of another.

    Args:
        operands: the nodes that replace the placeholders of the traced graph.
        origin: metadata for every copied node, see `origin_of`.
        root: receives the bodies of loops; by default the module that owns `into`.

    Returns:
        The result of the traced function, with nodes of `into` as leaves.
    """
    given = iter(operands)
    inner: dict[torch.fx.Node, torch.fx.Node] = {}
    for step in traced.nodes:
        if step.op == "placeholder":
            inner[step] = next(given)
        elif step.op == "output":
            return pytree.tree_map_only(torch.fx.Node, inner.__getitem__, step.args[0])
        elif step.op == "get_attr":
            body = getattr(traced.owning_module, step.target)
            name = _adopted(body, into.owning_module if root is None else root)
            inner[step] = into.create_node("get_attr", name)
        else:
            copy = into.node_copy(step, inner.__getitem__)
            copy.meta = {"val": step.meta.get("val"), **origin}
            inner[step] = copy
    raise AssertionError("a graph ends with its output")


def _adopted(body: torch.fx.GraphModule, root: torch.nn.Module) -> str:
    """Adds a sub-graph to `root`, unless it is there already, and returns its name."""
    for name, module in root.named_children():
        if module is body:
            return name
    name = next(n for i in itertools.count() if not hasattr(root, n := f"loop_graph_{i}"))
    root.add_module(name, body)
    return name


# The metadata that a node takes over from the one that it replaces.
_ORIGIN = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn")


# The operators that a node was decomposed from, in the metadata of nodes.
DECOMPOSED = "unmess.decomposed"


def origin_of(node: torch.fx.Node) -> dict[str, Any]:
    """Returns the origin of a node, for those that replace it.

    It has the source line of the user, the modules around it, and the operators that they were
    decomposed from, the user's own first.
    """
    origin = {key: node.meta[key] for key in _ORIGIN if key in node.meta}
    return {**origin, DECOMPOSED: (*node.meta.get(DECOMPOSED, ()), node.target)}
