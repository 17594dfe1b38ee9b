"""Records the graph of a captured program: each node, with its value in eager PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from operator import getitem
from pathlib import Path
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from importers.captured_program import CapturedProgram
from unmess.core.errors.user_source import node_line
from unmess.core.program.eager import copied
from unmess.triage.trace import Call, Code, Reference, Trace, Value
from unmess.triage.values import Values, argument, function_code

# Definitions of the names that the code of a graph may use.
_NAMES = "from math import inf, nan\n\ndevice = torch.device\nNoneType = type(None)\n\n\n"


def record_graph(program: CapturedProgram, folder: Path) -> Trace:
    """Runs the graph of a program on its example arguments, and returns it with all values.

    Args:
        folder: for the values.
    """
    exported = program.exported
    runner = _Runner(exported.graph_module)
    with torch.no_grad():
        runner.run(*exported._graph_module_flat_inputs(*copied((program.args, program.kwargs))))
    return _Recorder(exported, runner.values, Values(folder)).trace()


class _Recorder:
    """Makes the trace of a graph.

    Args:
        recorded: the values of the nodes.
    """

    def __init__(
        self,
        exported: torch.export.ExportedProgram,
        recorded: dict[torch.fx.Node, Any],
        values: Values,
    ):
        self._exported = exported
        self._root = exported.graph_module
        self._recorded = recorded
        self._values = values
        nodes = [node for node in exported.graph.nodes if node.op != "output"]
        self._names = {node: values.name(node.name) for node in nodes}
        # How calls refer to nodes.
        self._given: dict[torch.fx.Node, Any] = {
            node: Reference(name) for node, name in self._names.items()
        }

    def trace(self) -> Trace:
        """Returns the graph with its values."""
        inputs = self._inputs()
        calls = []
        for node in self._exported.graph.nodes:
            if node.op == "get_attr":
                self._given[node] = _attribute(self._root, node)
            elif node.op == "call_function":
                calls.append(self._call(node))
        (output,) = self._exported.graph.find_nodes(op="output")
        results = [self._given[node] for node in output.all_input_nodes]
        names = [result.name for result in results if isinstance(result, Reference)]
        return Trace(tuple(inputs), tuple(calls), tuple(dict.fromkeys(names)))

    def _inputs(self) -> list[Value]:
        specs = {spec.arg.name: spec for spec in self._exported.graph_signature.input_specs}
        inputs = []
        for node in self._exported.graph.find_nodes(op="placeholder"):
            recorded = self._recorded[node]
            if not isinstance(recorded, torch.Tensor):
                self._given[node] = recorded
                continue
            is_weight = specs[node.name].kind != InputKind.USER_INPUT
            inputs.append(self._value(node, is_weight=is_weight))
        return inputs

    def _call(self, node: torch.fx.Node) -> Call:
        args, kwargs = torch.fx.node.map_arg(
            (node.args, dict(node.kwargs)), self._given.__getitem__
        )
        return Call(
            self._value(node),
            function_code(node.target) or str(node.target),
            argument(tuple(args)),
            argument(dict(kwargs)),
            operator=str(node.target),
            where=node_line(node),
            definitions=_definitions(self._root, node),
            part_of=self._names[node.args[0]] if node.target is getitem else None,
        )

    def _value(self, node: torch.fx.Node, is_weight: bool = False) -> Value:
        recorded, dynamic = self._recorded[node], _dynamic(node)
        name = self._names[node]
        return self._values.value(name, recorded, is_weight=is_weight, dynamic=dynamic)


class _Runner(torch.fx.Interpreter):
    """Runs a graph, and keeps copies of the values."""

    def __init__(self, module: torch.fx.GraphModule):
        super().__init__(module, garbage_collect_values=False)
        self.values: dict[torch.fx.Node, Any] = {}

    def run_node(self, node: torch.fx.Node) -> Any:
        """See `torch.fx.Interpreter`."""
        result = super().run_node(node)
        if node.op != "output":
            self.values[node] = copied(result)
        return result


def _dynamic(node: torch.fx.Node) -> tuple[tuple[int, str], ...]:
    """Returns the axes whose size is a size symbol, with the symbol's name."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return ()
    return tuple(
        (axis, str(size.node.expr))
        for axis, size in enumerate(value.shape)
        if isinstance(size, torch.SymInt) and size.node.expr.is_symbol
    )


def _attribute(root: torch.fx.GraphModule, node: torch.fx.Node) -> Any:
    value = getattr(root, node.target)
    return Code(f"{_class_name(node.target)}()") if isinstance(value, torch.nn.Module) else value


def _definitions(root: torch.fx.GraphModule, node: torch.fx.Node) -> str | None:
    """Returns the classes of the graphs that a higher-order operator calls."""
    attributes = [each for each in node.all_input_nodes if each.op == "get_attr"]
    classes = [
        text for each in attributes for text in _classes(getattr(root, each.target), each.target)
    ]
    return _NAMES + "\n\n".join(classes) if classes else None


def _classes(module: Any, target: str) -> Iterator[str]:
    if not isinstance(module, torch.fx.GraphModule):
        return
    fields = []
    for node in module.graph.find_nodes(op="get_attr"):
        yield from _classes(getattr(module, node.target), node.target)
        fields.append(f"        self.{node.target} = {_class_name(node.target)}()\n")
    code = "".join(f"    {line}\n" for line in module.code.strip().splitlines())
    start = "    def __init__(self):\n        super().__init__()\n" + "".join(fields) + "\n"
    yield f"class {_class_name(target)}(torch.nn.Module):\n{start if fields else ''}{code}"


def _class_name(target: str) -> str:
    return "Graph_" + target.replace(".", "_")
