"""Imports loops and branches of the captured program as control flow of the torch dialect."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.fx.passes.shape_prop import _extract_tensor_metadata
from torch_mlir import ir
from torch_mlir.extras import fx_importer

from importers.node_failure import at

# The condition ends the loop, but the torch dialect requires an upper bound too.
_NO_BOUND = torch.iinfo(torch.int64).max


class ControlFlowImporter(fx_importer.GraphNodeImporter):
    """Imports nodes one by one, including `while_loop` with captured values and `cond`."""

    def import_nodes(self, nodes: Iterable[torch.fx.Node], **options) -> None:
        """Imports nodes in order; raises an Error (`import`) that names a node that fails."""
        nodes = list(nodes)
        placeholders = [node for node in nodes if node.op == "placeholder"]
        super().import_nodes(placeholders, **options)
        for node in nodes:
            if node.target is torch.ops.aten._local_scalar_dense.default:
                # torch-mlir reads the dtype of the operand of `item` from `tensor_meta`.
                operand = node.args[0].meta
                operand["tensor_meta"] = _extract_tensor_metadata(operand["val"])
            if node.op != "placeholder":
                at(node, lambda node=node: super(ControlFlowImporter, self).import_nodes([node]))

    def _import_hop_while_loop(self, loc, node, hop):
        """Emits a `torch.prim.Loop` for a `torch.while_loop`.

        torch-mlir's importer adds captured values to the loop's state, so the loop has more
        operands than results. Here the region refers to the captured values directly.
        """
        condition, body, state, outside = node.args
        root = node.graph.owning_module
        graphs = [getattr(root, function.target) for function in (condition, body)]
        names = [self.fx_importer._graph_module_to_func_name[id(graph)] for graph in graphs]
        values = self._values(loc, state)
        captured = self._values(loc, outside)
        types = [value.type for value in values]
        flag_type = self._cc.get_vtensor_type(torch.Size([]), torch.bool)

        def call(name: str, operands: list[ir.Value], results: list[ir.Type]) -> list[ir.Value]:
            callee = {"callee": ir.FlatSymbolRefAttr.get(name)}
            operands = [*operands, *captured]
            return list(
                ir.Operation.create("func.call", results, operands, callee, loc=loc).results
            )

        def to_bool(flag: ir.Value) -> ir.Value:
            boolean = self._cc.torch_bool_type
            return ir.Operation.create("torch.aten.Bool.Tensor", [boolean], [flag], loc=loc).result

        def holds(operands: list[ir.Value]) -> ir.Value:
            return to_bool(*call(names[0], operands, [flag_type]))

        def holds_at_first() -> ir.Value:
            flags = call(names[0], values, [flag_type]) * 2
            both = ir.Operation.create("torch.aten.logical_and", [flag_type], flags, loc=loc)
            return to_bool(both.result)

        # If the initial condition folds to true, torch-mlir assumes that only the trip count ends
        # the loop. That is correct for a loop with a known trip count. For any other loop the
        # initial condition must not fold, and no pattern folds `logical_and`.
        trips = _trip_count((*state, *outside), *graphs)
        if trips is not None:
            holds = self._true(loc)
        first = holds_at_first() if trips is None else holds(values)
        bound = self._trips(loc, _NO_BOUND if trips is None else trips)
        loop = ir.Operation.create(
            "torch.prim.Loop", types, [bound, first, *values], regions=1, loc=loc
        )
        arguments = [self._cc.torch_int_type, *types]
        block = ir.Block.create_at_start(loop.regions[0], arguments, [loc] * len(arguments))
        with ir.InsertionPoint(block):
            new = call(names[1], list(block.arguments)[1:], types)
            ir.Operation.create("torch.prim.Loop.condition", [], [holds(new), *new], loc=loc)
        # `while_loop` always returns a tuple; getitem nodes read its elements.
        self._multi_result_nodes.add(node)
        for index, result in enumerate(loop.results):
            self.bind_node_value(node, result, index)

    def _import_hop_cond(self, loc, node, hop):
        """Emits a `torch.prim.If` for a `torch.cond`. Each branch calls its function."""
        predicate, *branches, operands = node.args
        root = node.graph.owning_module
        value = self._import_argument(loc, predicate)
        if value.type != self._cc.torch_bool_type:
            boolean = self._cc.torch_bool_type
            value = ir.Operation.create(
                "torch.aten.Bool.Tensor", [boolean], [value], loc=loc
            ).result
        values = self._values(loc, operands)
        types = [self._cc.value_info_to_type(result) for result in node.meta["val"]]
        choice = ir.Operation.create("torch.prim.If", types, [value], regions=2, loc=loc)
        for region, branch in zip(choice.regions, branches, strict=True):
            graph = getattr(root, branch.target)
            name = self.fx_importer._graph_module_to_func_name[id(graph)]
            own_types = [self._cc.node_val_to_type(result) for result in _output(graph)]
            with ir.InsertionPoint(ir.Block.create_at_start(region, [])):
                call = ir.Operation.create(
                    "func.call",
                    own_types,
                    values,
                    {"callee": ir.FlatSymbolRefAttr.get(name)},
                    loc=loc,
                )
                # A size that differs between the branches is dynamic in the result.
                results = [
                    result if result.type == type_ else self._cast(loc, result, type_)
                    for result, type_ in zip(call.results, types, strict=True)
                ]
                ir.Operation.create("torch.prim.If.yield", [], results, loc=loc)
        self._multi_result_nodes.add(node)
        for index, result in enumerate(choice.results):
            self.bind_node_value(node, result, index)

    def _cast(self, loc: ir.Location, value: ir.Value, type_: ir.Type) -> ir.Value:
        return ir.Operation.create(
            "torch.tensor_static_info_cast", [type_], [value], loc=loc
        ).result

    def _trips(self, loc: ir.Location, trips: int | tuple[torch.fx.Node, int]) -> ir.Value:
        """Returns a trip count, which is a number or the size of an axis of a tensor."""
        if isinstance(trips, int):
            return self._constant(loc, "int", self._cc.integer_attr(trips, 64))
        tensor, axis = trips
        (value,) = self._values(loc, [tensor])
        number = self._constant(loc, "int", self._cc.integer_attr(axis, 64))
        kind = self._cc.torch_int_type
        return ir.Operation.create("torch.aten.size.int", [kind], [value, number], loc=loc).result

    def _true(self, loc: ir.Location):
        attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(1), 1)
        return lambda _operands: self._constant(loc, "bool", attribute)

    def _constant(self, loc: ir.Location, kind: str, value: ir.Attribute) -> ir.Value:
        result = getattr(self._cc, f"torch_{kind}_type")
        operation = f"torch.constant.{kind}"
        return ir.Operation.create(operation, [result], attributes={"value": value}, loc=loc).result

    def _values(self, loc: ir.Location, nodes) -> list[ir.Value]:
        return [self._import_argument(loc, node) for node in nodes]


def _trip_count(
    operands: tuple[torch.fx.Node, ...],
    condition: torch.fx.GraphModule,
    body: torch.fx.GraphModule,
) -> int | tuple[torch.fx.Node, int] | None:
    """Returns the trip count of a loop whose first value counts by one from a constant.

    A loop ends at a constant, or, if it starts at 0, at the size of a tensor. Then the result is
    the tensor and the axis. None for any other loop.
    """
    start = operands[0]
    if not isinstance(start, torch.fx.Node) or start.target is not torch.ops.aten.full_like.default:
        return None
    ends = _output(condition)
    (counter, *_) = _output(body)
    if ends.target is not torch.ops.aten.lt.Scalar or not _is_first(ends.args[0]):
        return None
    if counter.target not in (torch.ops.aten.add.Tensor, torch.ops.aten.add.Scalar):
        return None
    if counter.args[1] != 1 or not _is_first(counter.args[0]):
        return None
    end, first = ends.args[1], start.args[1]
    if not isinstance(end, torch.fx.Node):
        return max(end - first, 0)
    if end.target is not torch.ops.aten.sym_size.int or first != 0:
        return None
    tensor, axis = end.args
    # The sizes of a loop's values do not change.
    placeholders = [node for node in condition.graph.nodes if node.op == "placeholder"]
    return (operands[placeholders.index(tensor)], axis) if tensor in placeholders else None


def _output(graph: torch.fx.GraphModule):
    return next(node for node in graph.graph.nodes if node.op == "output").args[0]


def _is_first(value) -> bool:
    if not isinstance(value, torch.fx.Node):
        return False
    return value is next(iter(value.graph.nodes)) and value.op == "placeholder"
