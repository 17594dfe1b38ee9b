"""A graph whose regions are compiled, and that runs the rest in eager PyTorch."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pipelines.backends.executable import Executable
from unmess.core.signature.signature import Signature
from unmess.core.signature.size_expression import Dim
from unmess.core.signature.torch_signature import quick_check
from unmess.partition.levels import as_number, is_computed, is_constant

# Operators that read the memory of an operand by its strides.
_READS_MEMORY = "aten::as_strided"
# The libraries whose other operators accept every layout.
_ANY_LAYOUT = ("aten", "prims")


@dataclass(frozen=True)
class Region:
    """Nodes that are compiled together.

    Attributes:
        name: the name of the region, and of its call in the graph.
        nodes: in the order of the program's graph.
        inputs, outputs: the nodes whose values it takes and returns, in order.
        operators: the number of operators, without sizes and elements of tuples.
        flops: the floating-point operations of one call on the example's sizes.
        executable: the compiled region.
    """

    name: str
    nodes: tuple[torch.fx.Node, ...]
    inputs: tuple[torch.fx.Node, ...]
    outputs: tuple[torch.fx.Node, ...]
    operators: int
    flops: int
    executable: Executable


@dataclass(frozen=True)
class OutsideOperator:
    """An operator that runs in eager PyTorch.

    Attributes:
        node: the call, in the program's graph.
        operator: PyTorch's name, such as `aten.add.Tensor`.
        reason: why it is not compiled, in one line.
        where: the user's source line as `file:line`, or None if PyTorch recorded none.
        flops: the floating-point operations of one call on the example's sizes.
        is_failure: whether it does not compile. Otherwise it is left out on purpose: its region is
            small, or it is denied, writes memory, or is random.
    """

    node: torch.fx.Node
    operator: str
    reason: str
    where: str | None
    flops: int
    is_failure: bool = False


@dataclass(frozen=True)
class PartitionedGraph:
    """A program whose regions run on a backend.

    Attributes:
        graph_module: called with the graph's arguments in order; returns a tuple of its results.
        regions: in the order in which they run.
        outside: the operators that run in eager PyTorch, in the order of the graph.
        warnings: a line for each region or operator that was expected to compile and did not.
    """

    graph_module: torch.fx.GraphModule
    regions: tuple[Region, ...]
    outside: tuple[OutsideOperator, ...]
    warnings: tuple[str, ...] = ()

    @property
    def flops(self) -> int:
        """The floating-point operations of one call, on the example's sizes."""
        return sum(each.flops for each in (*self.regions, *self.outside))

    @property
    def compiled_share(self) -> float:
        """The share of the floating-point operations that run in compiled regions, 0 to 1."""
        return sum(region.flops for region in self.regions) / self.flops if self.flops else 1.0


class RegionCall(torch.nn.Module):
    """Calls a compiled region with the values of its inputs."""

    def __init__(self, region: Region):
        super().__init__()
        # Graphs are in reference cycles, which Python does not free when it exits. IREE's bindings
        # then print all objects that still exist.
        self._held = [region.executable]
        weakref.finalize(self, self._held.clear)
        signature = region.executable.signature
        self._entry = next(iter(region.executable.signatures))
        self._names = [leaf.name for leaf in signature.inputs]
        self._checks = [quick_check(leaf.spec) for leaf in signature.inputs]
        self._equal_sizes = _equal_sizes(signature)
        self._single = len(region.outputs) == 1

    def forward(self, *values: Any) -> Any:
        """Returns the region's result, or a sequence of several.

        Raises:
            Error: stage `run`; a value does not have the shape and dtype of the capture, or a check
                inside the region fails.
        """
        (executable,) = self._held
        for check, value in zip(self._checks, values, strict=True):
            if not check(value):
                executable.signature.flatten_call(values, {})
                break
        else:
            if self._equal_sizes is None or not all(
                _have_size(values, dim, places) for dim, places in self._equal_sizes
            ):
                executable.signature.flatten_call(values, {})
        results = executable.run_checked(self._entry, dict(zip(self._names, values, strict=True)))
        return results[0] if self._single else results


# A dynamic size, and the inputs and axes that have it.
_Places = tuple[Dim, tuple[tuple[int, int], ...]]


def _equal_sizes(signature: Signature) -> list[_Places] | None:
    """Returns the dynamic sizes of the inputs; None if guards or other sizes constrain them."""
    places: dict[Dim, list[tuple[int, int]]] = {}
    for index, leaf in enumerate(signature.inputs):
        for axis, size in enumerate(getattr(leaf.spec, "shape", ())):
            if isinstance(size, Dim):
                places.setdefault(size, []).append((index, axis))
    if signature.guards or not all(dim.expression.isidentifier() for dim in places):
        return None
    return [(dim, tuple(found)) for dim, found in places.items()]


def _have_size(values: Sequence[Any], dim: Dim, places: Sequence[tuple[int, int]]) -> bool:
    """Returns whether all places have the same size, and it is in the range."""
    index, axis = places[0]
    size = values[index].shape[axis]
    return dim.holds(size) and all(values[i].shape[k] == size for i, k in places[1:])


def assembled(
    root: torch.nn.Module,
    graph: torch.fx.Graph,
    levels: Mapping[torch.fx.Node, int],
    regions: Mapping[int, Region],
    arguments: Sequence[torch.fx.Node],
    bound: Mapping[torch.fx.Node, torch.Tensor],
    results: Sequence[Any],
    *,
    written: Iterable[tuple[torch.fx.Node, torch.fx.Node]] = (),
    keep_strides: bool = False,
) -> torch.fx.GraphModule:
    """Returns a graph that calls the regions and the operators outside of them.

    Args:
        root: holds the bodies of higher-order operators.
        graph: the program's graph.
        levels: the level of each node: see `levels_of`.
        regions: by their level.
        arguments: the placeholders that are arguments of the result, in order.
        bound: the tensors of other placeholders.
        results: the nodes and constants that it returns, in order.
        written: pairs of an argument and its new value, which is copied into it at the end.
        keep_strides: whether the returned results of regions get the strides of eager PyTorch.
    """
    builder = _Builder(root, arguments, bound)
    inside = {node for region in regions.values() for node in region.nodes}
    rest: dict[int, list[torch.fx.Node]] = {}
    for node in graph.nodes:
        if is_computed(node) and node not in inside:
            rest.setdefault(levels[node], []).append(node)
    returned = {node for node in results if isinstance(node, torch.fx.Node)}
    for level in sorted({*regions, *rest}):
        if level in regions:
            builder.call(regions[level], inside, returned if keep_strides else set())
        for node in rest.get(level, ()):
            builder.copy(node)
    for argument, value in written:
        builder.write(argument, value)
    return builder.finished(results)


class _Builder:
    def __init__(
        self,
        root: torch.nn.Module,
        arguments: Sequence[torch.fx.Node],
        bound: Mapping[torch.fx.Node, torch.Tensor],
    ):
        self._root = root
        self._module = torch.nn.Module()
        self._graph = torch.fx.Graph()
        self._bound = bound
        self._now: dict[torch.fx.Node, torch.fx.Node] = {}
        for node in arguments:
            self._now[node] = self._graph.node_copy(node)

    def call(
        self, region: Region, inside: set[torch.fx.Node], returned: set[torch.fx.Node]
    ) -> None:
        """Adds the call of a region."""
        setattr(self._module, region.name, RegionCall(region))
        call = self._graph.call_module(region.name, tuple(map(self._value, region.inputs)))
        for index, node in enumerate(region.outputs):
            several = len(region.outputs) > 1
            value = self._graph.call_function(_item, (call, index)) if several else call
            value.meta["val"] = node.meta["val"]
            readers = [user for user in node.users if user not in inside]
            if node in returned or any(map(_needs_strides, readers)):
                value = self._with_strides(value)
            self._now[node] = value

    def copy(self, node: torch.fx.Node) -> None:
        """Adds an operator that runs in eager PyTorch."""
        self._now[node] = self._graph.node_copy(node, self._value)

    def write(self, argument: torch.fx.Node, value: torch.fx.Node) -> None:
        """Adds the copy of a new value into an argument."""
        self._graph.call_function(
            torch.ops.aten.copy_.default, (self._value(argument), self._value(value))
        )

    def finished(self, results: Sequence[Any]) -> torch.fx.GraphModule:
        """Returns the graph, with these results."""
        self._graph.output(
            tuple(self._value(r) if isinstance(r, torch.fx.Node) else r for r in results)
        )
        return torch.fx.GraphModule(self._module, self._graph)

    def _value(self, node: torch.fx.Node) -> Any:
        if node.op == "placeholder" and is_constant(node):
            return node.meta.get("val")
        if node not in self._now:
            if node.op == "get_attr":
                name, value = node.target, getattr(self._root, node.target)
            else:
                name, value = f"weight_{len(self._now)}", self._bound[node]
            setattr(self._module, name, value)
            # At the beginning, because calls before this one may use it, too.
            with self._graph.inserting_before(next(iter(self._graph.nodes))):
                self._now[node] = self._graph.get_attr(name)
            self._now[node].meta = dict(node.meta)
        return self._now[node]

    def _with_strides(self, value: torch.fx.Node) -> torch.fx.Node:
        fake = value.meta["val"]
        order = dimension_order(fake) if isinstance(fake, torch.Tensor) else None
        # Regions return tensors in row-major order.
        if order is None or order == tuple(range(fake.dim())):
            return value
        strided = self._graph.call_function(reordered, (value, order))
        strided.meta["val"] = fake
        return strided


def dimension_order(fake: torch.Tensor) -> tuple[int, ...] | None:
    """Returns the dimensions of a tensor, the one with the largest stride first.

    Returns None if the tensor does not fill its memory, or has sizes that depend on data.
    """
    if not all(isinstance(each, int) or each.node._hint is not None for each in fake.shape):
        return None
    sizes, strides = ([*map(as_number, each)] for each in (fake.shape, fake.stride()))
    order = tuple(sorted(range(fake.dim()), key=lambda axis: -strides[axis]))
    expected = 1
    for axis in reversed(order):
        if sizes[axis] != 1 and strides[axis] != expected:
            return None
        expected *= max(sizes[axis], 1)
    return order


def reordered(tensor: torch.Tensor, order: tuple[int, ...]) -> torch.Tensor:
    """Returns a tensor with its dimensions in this order in memory."""
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return tensor.permute(order).contiguous().permute(inverse)


def _item(values: Sequence[Any], index: int) -> Any:
    return values[index]


def _needs_strides(node: torch.fx.Node) -> bool:
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    if node.target.namespace not in _ANY_LAYOUT:
        return torch.Tag.flexible_layout not in node.target.tags
    return node.target._schema.name.startswith(_READS_MEMORY)
