"""Decomposes a program node by node, each distinct call once.

`ExportedProgram.run_decompositions` traces the whole program again, twice, and dominates the import
time. If no tensor's size depends on data and the only mutations are in-place operators on values
without other uses, or on slices of values, every node can be decomposed independently. Equal calls,
as in repeated layers, share one trace. A mutated buffer or input becomes a further output. Anything
else raises `NotLocal`, and `decompose` uses `run_decompositions`.

Symbolic sizes belong to the program's own shape environment. Calls are equal if their sizes are the
same expressions. A trace reads the sizes of its operands; one node per expression remains.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx._lazy_graph_module import _make_graph_module
from torch.fx.experimental.symbolic_shapes import (
    GuardOnDataDependentSymNode,
    _ShapeEnvGuardError,
    free_unbacked_symbols,
)
from torch.utils import _pytree as pytree

from importers.decompositions.tracing import inline, origin_of, trace, tracing

# Maps the kind of a mutated input to the kind of the output that holds its new value.
_MUTATION = {
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
}

# Maps operators that return a part of their operand to the operators that replace this part.
_SCATTER = {
    torch.ops.aten.select.int: torch.ops.aten.select_scatter.default,
    torch.ops.aten.slice.Tensor: torch.ops.aten.slice_scatter.default,
}


# The maximum number of elements of a constant that a decomposition creates.
_SMALL = 64


class NotLocal(Exception):
    """The program cannot be decomposed node by node; the message says why."""


def decompose_locally(
    exported: torch.export.ExportedProgram, table: dict, keep_ops: Collection[str] = ()
) -> torch.export.ExportedProgram:
    """Decomposes the operators of `table` and composite operators, to a functional program.

    Args:
        keep_ops: composite operators to keep, such as `aten.linear`; they are not in the table.

    Raises:
        NotLocal: for sizes that depend on data, higher-order operators other than regions without
            gradients, or an in-place operator on a value that has other views.
    """
    with tracing(exported.graph, table) as python:
        return _Rewriter(exported, python, keep_ops).run()


class _Rewriter:
    def __init__(
        self, exported: torch.export.ExportedProgram, table: dict, keep_ops: Collection[str]
    ):
        self._exported = exported
        self._table = table
        self._keep_ops = keep_ops
        self._nodes = list(exported.graph.nodes)
        self._position = {node: index for index, node in enumerate(self._nodes)}
        self._inputs = {spec.arg.name: spec for spec in exported.graph_signature.input_specs}
        self._graph = torch.fx.Graph()
        # Holds the bodies of loops that decompositions create.
        self._root = torch.nn.Module()
        # Old nodes to their replacements: a node, or a tuple of nodes.
        self._now: dict[torch.fx.Node, Any] = {}
        self._traces: dict[Any, torch.fx.Graph] = {}
        # Old placeholders that were mutated.
        self._mutated: set[torch.fx.Node] = set()
        # Storage to the old nodes that share it, in order.
        self._sharers: dict[int, list[torch.fx.Node]] = {}
        values = [node.meta.get("val") for node in self._nodes if node.op == "placeholder"]
        mode = detect_fake_mode(pytree.tree_leaves(values))
        # The ranges and relations of symbolic sizes.
        self._environment = mode.shape_env if mode else None

    def run(self) -> torch.export.ExportedProgram:
        self._walk(self._nodes)
        mutations = self._return_mutations()
        _share_sizes(self._graph)
        self._graph.eliminate_dead_code()
        module = _make_graph_module(self._root, self._graph)
        module.meta.update(self._exported.graph_module.meta)
        return self._exported._update(module, self._signature(mutations))

    def _walk(self, nodes: Iterable[torch.fx.Node]) -> None:
        for node in nodes:
            if node.target is torch.ops.aten.slice.Tensor and not node.users:
                # `DataPositions` leaves slices of unknown size, needed only to compare sizes.
                continue
            self._check(node)
            self._now[node] = self._rewrite(node)
            for storage in _storages(node):
                self._sharers.setdefault(storage, []).append(node)

    def _check(self, node: torch.fx.Node) -> None:
        value = node.meta.get("val")
        tensors = [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
        if free_unbacked_symbols(tensors):
            raise NotLocal(f"{node} has a size that depends on data")
        if node.op == "get_attr":
            if not all(_is_region(user) for user in node.users):
                raise NotLocal(f"{node.target} is an attribute")
        elif (
            node.op == "call_function"
            and node.target is not operator.getitem
            and not isinstance(node.target, torch._ops.OpOverload)
            and not isinstance(value, torch.types.py_sym_types)
            and not _is_region(node)
        ):
            raise NotLocal(f"{node.target} is not an operator")

    def _rewrite(self, node: torch.fx.Node) -> Any:
        if node.op == "get_attr":
            return None  # the body of a region; `_enter` looks it up
        if node.op != "call_function":
            return self._copy(node)
        if _is_region(node):
            return self._enter(node)
        if node.target is operator.getitem:
            source, index = node.args
            now = self._now[source]
            return now[index] if isinstance(now, (tuple, list)) else self._copy(node)
        if isinstance(node.meta.get("val"), torch.types.py_sym_types):
            copy = self._copy(node)
            if copy.target is torch.ops.aten.item.default:
                # Tracing `item` would create another symbol.
                copy.target = torch.ops.aten._local_scalar_dense.default
            return copy
        if node.target is torch.ops.aten.detach_.default:
            # It changes no value, only how gradients are computed.
            return self._current(node.args[0])
        if node.target._schema.is_mutable:
            return self._rewrite_in_place(node)
        if str(node.target).removesuffix(".default") in self._keep_ops:
            return self._copy(node)
        if node.target in self._table or _is_composite(node.target):
            return self._expand(node, node.target)
        return self._copy(node)

    def _copy(self, node: torch.fx.Node) -> torch.fx.Node:
        copy = self._graph.node_copy(node, self._current)
        if node.op == "placeholder":
            # The graph would rename `input`, a builtin, but the signature refers to the old name.
            copy.name = node.name
        return copy

    def _current(self, node: torch.fx.Node) -> torch.fx.Node:
        now = self._now[node]
        if not isinstance(now, torch.fx.Node):
            raise NotLocal(f"{node} is a list of tensors used as a whole")
        return now

    def _enter(self, region: torch.fx.Node) -> Any:
        """Inlines the nodes of a region in place of its call, and returns its result."""
        body, *operands = (arg for arg in region.args if isinstance(arg, torch.fx.Node))
        nodes = list(getattr(region.graph.owning_module, body.target).graph.nodes)
        self._position |= dict.fromkeys(nodes, self._position[region])
        placeholders = nodes[: len(operands)]
        for placeholder, operand in zip(placeholders, operands, strict=True):
            self._now[placeholder] = self._now[operand]
        self._walk(nodes[len(operands) : -1])
        return pytree.tree_map_only(torch.fx.Node, self._now.__getitem__, nodes[-1].args[0])

    def _rewrite_in_place(self, node: torch.fx.Node) -> torch.fx.Node:
        """Rewrites an in-place operator to its functional form, which replaces the operand."""
        if node.graph is not self._exported.graph:
            raise NotLocal(
                f"{node.target} is in a region, and its order relative to other "
                "operators is not known"
            )
        if node.target.overloadpacket is torch.ops.aten.set_:
            raise NotLocal(f"{node.target} leaves the old storage to the tensor's other views")
        functional = _functional_form(node.target)
        operand = node.args[0]
        (storage,) = _storages(operand)
        sharers = self._sharers[storage]
        placeholders = [node for node in sharers if node.op == "placeholder"]
        if len(placeholders) > 1 or any(self._input(p).kind not in _MUTATION for p in placeholders):
            raise NotLocal(f"{node.target} mutates {placeholders[0]}")
        parts = _parts(operand, sharers)
        rewritten = [operand, *(part.args[0] for part in parts)]
        for sharer in sharers:
            if any(_same_geometry(sharer, other) for other in rewritten):
                continue
            # The new value of a mutated placeholder is an output, so all of it must be known.
            if sharer in placeholders:
                raise NotLocal(f"{node.target} mutates a part of {sharer}")
            if self._is_used_after(sharer, node):
                raise NotLocal(f"{node.target} mutates {operand}, of which {sharer} is a view")
        self._mutated.update(placeholders)
        result = self._copied(node) or self._expand(node, functional)
        before, after = operand.meta["val"], result.meta["val"]
        if (before.dtype, _exact(before.shape)) != (after.dtype, _exact(after.shape)):
            raise NotLocal(f"{functional} has another type than {node.target}")
        self._replace(operand, result, sharers)
        value = result
        for part in parts:
            value = self._with_part(part, value, origin_of(node))
            self._replace(part.args[0], value, sharers)
        return result

    def _replace(
        self, old: torch.fx.Node, value: torch.fx.Node, sharers: Iterable[torch.fx.Node]
    ) -> None:
        """Sets the new value of a mutated node and of all nodes with the same elements."""
        for sharer in sharers:
            if _same_geometry(sharer, old):
                self._now[sharer] = value

    def _with_part(
        self, part: torch.fx.Node, value: torch.fx.Node, origin: Mapping[str, Any]
    ) -> torch.fx.Node:
        """Returns the operand of the slice `part`, with its elements replaced by `value`.

        `value` is a node of the new graph.
        """
        self._now[value] = value
        whole, *position = part.args
        leaves, spec = pytree.tree_flatten(((whole, value, *position), part.kwargs))
        return self._inlined(_SCATTER[part.target], leaves, spec, origin)

    def _copied(self, node: torch.fx.Node) -> torch.fx.Node | None:
        """Returns the source of a `copy_` of a whole tensor, which is then the new value.

        Returns None for other operators, if dtypes or shapes differ, or if the source is an input.
        """
        if node.target is not torch.ops.aten.copy_.default:
            return None
        into, given = node.args[0].meta["val"], node.args[1].meta["val"]
        if (into.dtype, _exact(into.shape)) != (given.dtype, _exact(given.shape)):
            return None
        found = self._current(node.args[1])
        return None if found.op == "placeholder" else found

    def _input(self, placeholder: torch.fx.Node) -> InputSpec:
        return self._inputs[placeholder.name]

    def _return_mutations(self) -> list[OutputSpec]:
        """Prepends the new values of mutated placeholders to the outputs; returns their specs."""
        mutated = [node for node in self._nodes if node in self._mutated]
        output = next(iter(reversed(self._graph.nodes)))
        now: list[torch.fx.Node] = []
        for node in mutated:
            value = self._current(node)
            # PyTorch's signature maps each node to one mutated placeholder.
            now.append(value if value not in now else self._cloned(value, output))
        output.args = ((*now, *output.args[0]),)
        specs = []
        for node, value in zip(mutated, now, strict=True):
            given = self._input(node)
            target = given.arg.name if given.target is None else given.target
            specs.append(OutputSpec(_MUTATION[given.kind], TensorArgument(value.name), target))
        return specs

    def _cloned(self, value: torch.fx.Node, before: torch.fx.Node) -> torch.fx.Node:
        with self._graph.inserting_before(before):
            clone = self._graph.call_function(torch.ops.aten.clone.default, (value,))
        clone.meta.update(value.meta)
        return clone

    def _is_used_after(self, node: torch.fx.Node, mutation: torch.fx.Node) -> bool:
        return any(self._position[user] > self._position[mutation] for user in node.users)

    def _expand(self, node: torch.fx.Node, target: torch._ops.OpOverload) -> Any:
        """Inlines the trace of `target`, called with the node's arguments, into the new graph."""
        leaves, spec = pytree.tree_flatten((node.args, node.kwargs))
        return self._inlined(target, leaves, spec, origin_of(node))

    def _inlined(
        self,
        target: torch._ops.OpOverload,
        leaves: list[Any],
        spec: pytree.TreeSpec,
        origin: Mapping[str, Any],
    ) -> Any:
        traced = self._trace(target, leaves, spec)
        operands = [self._current(leaf) for leaf in leaves if isinstance(leaf, torch.fx.Node)]
        return inline(traced, operands, self._graph, origin, self._root)

    def _trace(self, target, leaves: list[Any], spec: pytree.TreeSpec) -> torch.fx.Graph:
        key = (target, str(spec), tuple(_description(leaf) for leaf in leaves))
        if key not in self._traces:
            tensors = [leaf.meta["val"] for leaf in leaves if isinstance(leaf, torch.fx.Node)]

            def call(*values: torch.Tensor) -> Any:
                given = iter(values)
                filled = [
                    next(given) if isinstance(leaf, torch.fx.Node) else leaf for leaf in leaves
                ]
                args, kwargs = pytree.tree_unflatten(filled, spec)
                return target(*args, **kwargs)

            try:
                with self._knowledge(target):
                    graph = trace(call, tensors, self._table)
            except (_ShapeEnvGuardError, GuardOnDataDependentSymNode) as problem:
                raise NotLocal(
                    f"{target} depends on sizes that are not known: {problem}"
                ) from problem
            _make_functional(graph)
            _compute_constants(graph, self._table)
            _check_trace(target, graph)
            self._traces[key] = graph
        return self._traces[key]

    def _knowledge(self, target: torch._ops.OpOverload) -> AbstractContextManager:
        """Returns a context in which symbolic sizes stay symbolic."""
        if self._environment is None:
            return nullcontext()
        if "conv" in target._schema.name:
            # PyTorch selects the convolution backend by the batch size of the example. Only the
            # strides of the result depend on it, so the guards are not needed.
            return self._environment.suppress_guards()
        return self._environment.error_on_new_guards()

    def _signature(self, mutations: list[OutputSpec]) -> torch.export.ExportGraphSignature:
        """Returns the program's signature with `mutations` first and the outputs' new names."""
        now = next(node for node in self._graph.nodes if node.op == "output").args[0]
        signature = self._exported.graph_signature
        all_specs = (*mutations, *signature.output_specs)
        specs = [
            spec
            if isinstance(spec.arg, ConstantArgument)
            else replace(spec, arg=replace(spec.arg, name=node.name))
            for spec, node in zip(all_specs, now, strict=True)
        ]
        return replace(signature, output_specs=specs)


def _is_region(node: torch.fx.Node) -> bool:
    """Returns True if a node calls a subgraph under set_grad_enabled, or with autocast disabled."""
    if node.target is torch.ops.higher_order.wrap_with_set_grad_enabled:
        return True
    # Its arguments are device, dtype, enabled, …
    return node.target is torch.ops.higher_order.wrap_with_autocast and not node.args[2]


def _is_composite(target: torch._ops.OpOverload) -> bool:
    """Returns True if the operator is defined only by other operators."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return torch._C._dispatch_has_kernel_for_dispatch_key(target.name(), key)


def _functional_form(target: torch._ops.OpOverload) -> torch._ops.OpOverload:
    """Returns the functional form of an in-place operator: `aten.relu` for `aten.relu_`."""
    arguments = target._schema.arguments
    writes = [bool(a.alias_info and a.alias_info.is_write) for a in arguments]
    packet = target._overloadpacket.__name__
    if not packet.endswith("_") or writes != [True] + [False] * (len(writes) - 1):
        raise NotLocal(f"{target} mutates another argument than its first")
    functional = getattr(getattr(torch.ops, target.namespace), packet[:-1], None)
    overloads = [] if functional is None else functional.overloads()
    # Overload names do not decide: `pow_.Scalar` has the arguments of `pow.Tensor_Scalar`.
    for name in overloads:
        if _parameters(getattr(functional, name)) == _parameters(target):
            return getattr(functional, name)
    raise NotLocal(f"{target} has no functional form")


def _parameters(operator: torch._ops.OpOverload) -> list[tuple[str, str, bool]]:
    """Returns name, type and keyword-only of each parameter. The first may have any name."""
    found = [(a.name, str(a.type), a.kwarg_only) for a in operator._schema.arguments]
    return [("", *found[0][1:]), *found[1:]]


def _storages(node: torch.fx.Node) -> set[int]:
    """Returns the storages of a node's values. Aliases share a storage, in fake tensors too."""
    return {
        value.untyped_storage()._cdata
        for value in pytree.tree_leaves(node.meta.get("val"))
        if isinstance(value, torch.Tensor)
    }


def _parts(operand: torch.fx.Node, sharers: Iterable[torch.fx.Node]) -> list[torch.fx.Node]:
    """Returns the slices through which `operand` is a part of other tensors, innermost first.

    Each is a slice of the operand of the one before it, and the first one has `operand`'s elements.
    """
    parts = []
    while True:
        found = (
            node
            for node in sharers
            if node.target in _SCATTER
            and _same_geometry(node, operand)
            and not _same_geometry(node.args[0], operand)
        )
        part = next(found, None)
        if part is None:
            return parts
        parts.append(part)
        operand = part.args[0]


def _same_geometry(node: torch.fx.Node, other: torch.fx.Node) -> bool:
    """Returns True if two nodes that share a storage have the same elements of it."""
    a, b = node.meta["val"], other.meta["val"]
    if not isinstance(a, torch.Tensor) or a.dtype != b.dtype:
        return False
    return _geometry(a) == _geometry(b)


def _geometry(tensor: torch.Tensor) -> tuple:
    """Returns shape, strides and offset in a form that compares without adding guards."""
    return (
        _exact(tensor.shape),
        _exact(tensor.stride()),
        _exact([tensor.storage_offset()]),
    )


def _exact(sizes: Iterable[int | torch.SymInt]) -> tuple:
    """Returns sizes as numbers and expressions, which are equal if they are the same expression."""
    return tuple(size if isinstance(size, int) else size.node.expr for size in sizes)


def _description(leaf: Any) -> Any:
    """Returns a key that is equal for arguments with the same trace."""
    if isinstance(leaf, torch.fx.Node):
        value = leaf.meta["val"]
        if not isinstance(value, torch.Tensor):
            return type(value).__name__, value.node.expr
        return value.dtype, value.device, _geometry(value)
    # 1, 1.0 and True are equal, but not the same argument; NaN is not equal to itself.
    return type(leaf).__name__, repr(leaf)


def _share_sizes(graph: torch.fx.Graph) -> None:
    """Replaces nodes with the same symbolic size expression by the first of them."""
    first: dict[Any, torch.fx.Node] = {}
    for node in graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and node.op == "call_function":
            shared = first.setdefault(value.node.expr, node)
            if shared is not node:
                node.replace_all_uses_with(shared)


def _make_functional(graph: torch.fx.Graph) -> None:
    """Replaces `as_strided_` and `detach_` in the trace of a decomposition.

    With `as_strided_`, a decomposition sets the layout of its own result. The tracer uses the
    result for all later uses of the operand. `torch.tensor` ends with `detach_`.
    """
    for node in graph.nodes:
        if node.target is torch.ops.aten.detach_.default:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
        elif node.target is torch.ops.aten.as_strided_.default and len(node.args[0].users) == 1:
            node.target = torch.ops.aten.as_strided.default


def _compute_constants(graph: torch.fx.Graph, table: Mapping) -> None:
    """Replaces small constants, which `torch.tensor` creates, by operators that compute them.

    Call it inside `tracing`.
    """
    for node in graph.nodes:
        value = getattr(graph.owning_module, node.target) if node.op == "get_attr" else None
        if isinstance(value, torch.Tensor) and value.numel() <= _SMALL:
            with unset_fake_temporarily():
                numbers = value.flatten().tolist()
            computed = trace(partial(_of_numbers, numbers, value.shape, value.dtype), [], table)
            with graph.inserting_before(node):
                node.replace_all_uses_with(inline(computed, [], graph, {}))
            graph.erase_node(node)


def _of_numbers(numbers: list[Any], shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
    """Returns a tensor of `numbers` in row-major order."""
    if len(numbers) == 1:
        return torch.full(shape, numbers[0], dtype=dtype)
    parts = [torch.full((1,), number, dtype=dtype) for number in numbers]
    return torch.cat(parts).reshape(shape) if parts else torch.zeros(shape, dtype=dtype)


def _check_trace(target: torch._ops.OpOverload, graph: torch.fx.Graph) -> None:
    for node in graph.nodes:
        is_operator = isinstance(node.target, torch._ops.OpOverload)
        is_constant = node.op == "get_attr" and not isinstance(
            getattr(graph.owning_module, node.target), torch.fx.GraphModule
        )
        if is_constant or (is_operator and node.target._schema.is_mutable):
            raise NotLocal(f"the decomposition of {target} has {node.target}")
