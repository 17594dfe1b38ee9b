"""Lowers higher-order operators during decomposition: `scan` to a loop, and FlexAttention.

FlexAttention becomes plain attention, with its score and mask functions inlined. PyTorch calls
these functions on single elements, under `vmap`. Here they run on all elements at once, by
broadcasting. So they may only contain pointwise operators and reads of single elements of tensors.
"""

from __future__ import annotations

import contextlib
import math
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch._guards import detect_fake_mode
from torch._higher_order_ops.scan import scan_op
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.fx.node import map_arg

from importers.loops import element, repeated
from unmess.core.errors.error import Error


@contextlib.contextmanager
def simpler_operators() -> Iterator[None]:
    """Makes tracing replace `scan` by simpler operators inside the `with` block."""
    rewrites = {scan_op: _scan}
    before = {operator: operator.python_key_table[ProxyTorchDispatchMode] for operator in rewrites}
    try:
        for operator, rewrite in rewrites.items():
            operator.python_key_table[ProxyTorchDispatchMode] = _traced(rewrite)
        yield
    finally:
        for operator, own in before.items():
            operator.python_key_table[ProxyTorchDispatchMode] = own


def _traced(rewrite: Callable) -> Callable:
    def trace(mode: ProxyTorchDispatchMode, *args, **kwargs):
        with mode:
            return rewrite(*args, **kwargs)

    return trace


def _scan(
    combine: Callable,
    init: Sequence[torch.Tensor],
    xs: Sequence[torch.Tensor],
    outside: Sequence[torch.Tensor],
) -> tuple[torch.Tensor, ...]:
    """Scans along the first axis. Many steps become a loop."""

    def advance(step, carried, tensors):
        sequences, rest = tensors
        parts = [element(x, step) for x in sequences]
        results = combine(*carried, *parts, *rest)
        return results[: len(init)], results[len(init) :]

    carried, rows = repeated(xs[0].shape[0], advance, init, (list(xs), list(outside)))
    return (*carried, *rows)


@contextlib.contextmanager
def block_masks_without_vmap() -> Iterator[None]:
    """Makes block masks avoid `vmap` inside the `with` block: a program cannot contain it."""
    library = sys.modules.get("torch.nn.attention.flex_attention")
    if library is None:
        yield
        return
    before = library._ordered_to_dense
    library._ordered_to_dense = _dense
    try:
        yield
    finally:
        library._ordered_to_dense = before


def _dense(counts: torch.Tensor, columns: torch.Tensor, number: int) -> torch.Tensor:
    """Returns an int32 mask with `number` columns: 1 at the columns that each row lists.

    A row lists the first `counts` entries along the last axis of `columns`.
    """
    entries = torch.arange(columns.shape[-1], dtype=torch.int32, device=columns.device)
    every = torch.arange(number, dtype=torch.int32, device=columns.device)
    is_used = entries < counts.unsqueeze(-1)
    is_there = (columns.unsqueeze(-1) == every) & is_used.unsqueeze(-1)
    return is_there.any(-2).to(torch.int32)


_aten = torch.ops.aten
_INFINITY = float("-inf")
# Pointwise operators without the tag `pointwise`.
_ALSO_POINTWISE = frozenset(
    [
        *(getattr(_aten, f"__{name}__").Tensor for name in ("and", "or", "xor")),
        _aten._to_copy.default,
        _aten.alias.default,
        _aten.clone.default,
        _aten.detach.default,
        _aten.detach_.default,
        _aten.lift_fresh_copy.default,
        _aten.to.dtype,
    ]
)
# Create constants with the dtype of a tensor. The second argument is the shape.
_CONSTANTS = frozenset([_aten.new_full.default, _aten.new_ones.default, _aten.new_zeros.default])
_READ = "torch._dynamo._trace_wrapped_higher_order_op.ModIndex"


def inline_flex_attention(
    exported: torch.export.ExportedProgram,
) -> torch.export.ExportedProgram:
    """Replaces FlexAttention in a program. Returns the program itself if it has none.

    Raises:
        Error: stage `capture`, for a score or mask function that is not pointwise.
    """
    target = torch.ops.higher_order.flex_attention
    if not any(node.target is target for node in exported.graph.nodes):
        return exported
    graph = torch.fx.Graph()
    # Old nodes to new ones. An attention maps to a tuple of its three results.
    now: dict[Node, object] = {}
    for node in exported.graph.nodes:
        if node.target is target:
            now[node] = _Attention(graph, node, now).results()
        elif node.target is operator.getitem and isinstance(now[node.args[0]], tuple):
            now[node] = now[node.args[0]][node.args[1]]
        elif node.op == "get_attr" and all(user.target is target for user in node.users):
            continue
        else:
            now[node] = graph.node_copy(node, lambda old: now[old])
    graph.eliminate_dead_code()
    names = next(node for node in graph.nodes if node.op == "output").args[0]
    specs = exported.graph_signature.output_specs
    for spec, node in zip(specs, names, strict=True):
        if isinstance(node, Node):
            spec.arg.name = node.name
    module = GraphModule(exported.graph_module, graph)
    return exported._update(module, exported.graph_signature)


class _Attention:
    def __init__(self, graph: torch.fx.Graph, node: Node, now: Mapping[Node, object]):
        self.graph, self.node, self.now = graph, node, now

    def call(self, operator: torch._ops.OpOverload, *args, **kwargs) -> Node:
        return self._valued(self.graph.call_function(operator, args, kwargs))

    def _valued(self, new: Node) -> Node:
        args, kwargs = map_arg((new.args, new.kwargs), lambda each: each.meta["val"])
        with detect_fake_mode([self.node.args[0].meta["val"]]):
            new.meta["val"] = new.target(*args, **kwargs)
        new.meta["stack_trace"] = self.node.meta.get("stack_trace")
        return new

    def results(self) -> tuple[Node, Node, Node]:
        """Returns the attention, and the logsumexp and maximum of the scores, divided by ln 2."""
        query, key, value, score, block_mask, scale, _, *buffers = self.node.args
        score_buffers, mask_buffers = buffers or ((), ())
        dtype = query.meta["val"].dtype
        working = torch.float64 if dtype == torch.float64 else torch.float32
        groups = query.meta["val"].shape[1] // key.meta["val"].shape[1]
        q, k, v = (self.now[each] for each in (query, key, value))
        if groups != 1:
            k, v = (self.call(_aten.repeat_interleave.self_int, x, groups, 1) for x in (k, v))
        q, k = (self.call(_aten.to.dtype, x, working) for x in (q, k))
        scores = self.call(_aten.matmul.default, q, self.call(_aten.transpose.int, k, -2, -1))
        scores = self.call(_aten.mul.Tensor, scores, scale)
        sizes = [self.call(_aten.sym_size.int, scores, axis) for axis in range(4)]
        places = [self._places(size, axis) for axis, size in enumerate(sizes)]
        changed = self._inline(score, [scores, *places], score_buffers)
        changed = self.call(_aten.expand.default, changed, sizes)
        mask = self._inline(block_mask[-1], places, mask_buffers)
        changed = self.call(_aten.where.ScalarOther, mask, changed, _INFINITY)
        weights = self.call(_aten._safe_softmax.default, changed, -1)
        weights, v = (self.call(_aten.to.dtype, x, dtype) for x in (weights, v))
        is_masked = self.call(_aten.eq.Scalar, changed, _INFINITY)
        is_masked = self.call(_aten.all.dim, is_masked, -1)
        total = self.call(_aten.logsumexp.default, changed, [-1])
        largest = self.call(_aten.amax.default, changed, [-1])
        total = self.call(_aten.masked_fill.Scalar, total, is_masked, _INFINITY)
        return (
            self.call(_aten.matmul.default, weights, v),
            self.call(_aten.div.Tensor, total, math.log(2)),
            self.call(_aten.div.Tensor, largest, math.log(2)),
        )

    def _places(self, size: Node, axis: int) -> Node:
        """Returns the indices along an axis of the scores, as a 4-D tensor that broadcasts."""
        places = self.call(_aten.arange.default, size, device=torch.device("cpu"))
        shape = [1, 1, 1, 1]
        shape[axis] = -1
        return self.call(_aten.view.default, places, shape)

    def _inline(self, function: Node, batched: Sequence[Node], buffers: Sequence[Node]) -> Node:
        """Inlines a score or mask function for all elements at once, and returns its result."""
        module = getattr(self.node.graph.owning_module, function.target)
        outside = [self.now[each] if isinstance(each, Node) else each for each in buffers]
        given = iter([*batched, *outside])
        known: dict[Node, object] = {}
        # Nodes with one value per element of the scores.
        many: set[Node] = set()
        for node in module.graph.nodes:
            if node.op == "placeholder":
                known[node] = next(given)
                if len(known) <= len(batched):
                    many.add(node)
            elif node.op == "output":
                (result,) = node.all_input_nodes
                return known[result]
            elif _is_read(node):
                _, _, _, whole, *indices = node.args
                self._check_read(whole, indices, many)
                many.add(node)
                places = [known[each] for each in indices]
                known[node] = self.call(_aten.index.Tensor, known[whole], places)
            elif node.op == "get_attr" and all(map(_is_read, node.users)):
                continue
            else:
                self._check(node, many)
                if many.intersection(node.all_input_nodes) and node.target not in _CONSTANTS:
                    many.add(node)
                known[node] = self._valued(self.graph.node_copy(node, lambda old: known[old]))
        raise AssertionError("the graph has no output")

    def _check(self, node: Node, many: set[Node]) -> None:
        operands = node.all_input_nodes
        is_operator = isinstance(node.target, torch._ops.OpOverload)
        if node.op == "call_function" and is_operator:
            if node.target is _aten.index.Tensor and node.args[0] not in many:
                self._check_read(*node.args, many)
                return
            scalars = all(each in many or not _shape(each) for each in operands)
            is_pointwise = torch.Tag.pointwise in node.target.tags
            is_constant = node.target in _CONSTANTS and not node.args[1]
            if not many.intersection(operands) or is_constant:
                return
            if scalars and (is_pointwise or node.target in _ALSO_POINTWISE):
                return
        raise _not_pointwise(node.target)

    def _check_read(self, whole: Node, indices: Sequence[Node], many: set[Node]) -> None:
        is_element = None not in indices and len(indices) == len(_shape(whole))
        if whole in many or not is_element:
            raise _not_pointwise(_aten.index.Tensor)


def _is_read(node: Node) -> bool:
    """Returns True if a node is PyTorch's function for `tensor[indices]`."""
    return node.target is torch.ops.higher_order.flat_apply and node.args[2] == _READ


def _not_pointwise(target: object) -> Error:
    return Error(
        "capture",
        f"a score or mask function of flex_attention calls {target}, which is not an elementwise "
        "operator",
        hint="compute the tensor before the attention, and read its elements by indices",
    )


def _shape(node: Node) -> Sequence[int]:
    return node.meta["val"].shape
