"""Makes Programs from functional FX graphs of ATen operators, and from parts of them.

AOTAutograd calls an operator that has effects, for example the check of `torch.linalg.solve`, by
the higher-order operator `with_effects`, which takes a token and returns a new one. The order of
the nodes in the graph is the same, so the operator can be called itself, without tokens.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import torch
from torch._export.verifier import TrainingIRVerifier
from torch._guards import detect_fake_mode
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torch.utils import _pytree as pytree

from importers.capture.decompositions import decompose
from importers.capture.fake_kernels import corrected_fake_kernels
from importers.capture.signature import read_signature, read_weights, with_strides
from importers.captured_program import CapturedProgram
from importers.repairs import apply_repairs
from unmess.core.errors.error import Error
from unmess.core.errors.quiet import quiet_pytorch

_ARGUMENTS = (
    (torch.Tensor, TensorArgument),
    (torch.SymInt, SymIntArgument),
    (torch.SymFloat, SymFloatArgument),
    (torch.SymBool, SymBoolArgument),
)


def graph_program(
    graph_module: torch.fx.GraphModule, name: str, keep_ops: Collection[str] = ()
) -> CapturedProgram:
    """Captures a graph of ATen operators, such as AOTAutograd's forward or backward graph.

    The graph takes tensors and sizes as placeholders, and returns a flat tuple. Each node has its
    FakeTensor or symbolic number in `meta["val"]`. In-place operators on placeholders become
    further results, of kind `state`. The graph itself is not changed.

    Args:
        keep_ops: operators that are not decomposed, such as `aten.native_dropout`.

    Raises:
        Error: stage `capture`.
    """
    copy = torch.fx.GraphModule(graph_module, _copied(graph_module.graph))
    remove_tokens(copy.graph)
    constants = _lift_constants(copy)
    with quiet_pytorch(), corrected_fake_kernels():
        original = _exported(copy, {}, constants)
        exported, decompositions = decompose(original, keep_ops)
        exported, repairs = apply_repairs(exported)
    program = _program(exported, name)
    program.signature = with_strides(program.signature, original)
    program.notes = (*decompositions, *repairs)
    return program


def part_program(
    program: CapturedProgram,
    nodes: Iterable[torch.fx.Node],
    inputs: Sequence[torch.fx.Node],
    outputs: Sequence[torch.fx.Node],
    name: str,
) -> CapturedProgram:
    """Returns some nodes of a program's graph as a program of their own.

    Args:
        nodes: in the order of the graph.
        inputs: the arguments of the part, in order. Placeholders of weights that the nodes use and
            that are not among them stay weights of the part: the same tensors, by the same names.
        outputs: the results of the part, in order: nodes with a tensor or a number.
    """
    exported = program.exported
    root = exported.graph_module
    specs = {spec.arg.name: spec for spec in exported.graph_signature.input_specs}
    graph, module = torch.fx.Graph(), torch.nn.Module()
    now: dict[torch.fx.Node, Any] = {}
    weights: dict[str, InputSpec] = {}
    nodes = list(nodes)
    used = dict.fromkeys(operand for node in nodes for operand in node.all_input_nodes)
    for node in used:
        if node.op != "placeholder" or node in inputs:
            continue
        argument = specs[node.name].arg
        if isinstance(argument, ConstantArgument):
            now[node] = argument.value
        else:
            now[node] = _placeholder(graph, node)
            weights[now[node].name] = specs[node.name]
    for node in inputs:
        now[node] = _placeholder(graph, node)
    for node in used:
        if node.op == "get_attr" and node not in now:
            # The body of a higher-order operator.
            setattr(module, node.target, getattr(root, node.target))
            now[node] = graph.node_copy(node)
    for node in nodes:
        now[node] = graph.node_copy(node, now.__getitem__)
    graph.output(tuple(now[node] for node in outputs))
    return _program(
        _exported(
            torch.fx.GraphModule(module, graph),
            weights,
            exported.constants,
            exported.state_dict,
            exported.range_constraints,
        ),
        name,
    )


def _program(exported: torch.export.ExportedProgram, name: str) -> CapturedProgram:
    """Returns a Program without an example call."""

    def eager(*_args: Any) -> Any:
        raise Error("run", f"{name} is a part of a model, which has no eager call of its own")

    weights, tied = read_weights(exported)
    signature = read_signature(exported, eager, weights)
    return CapturedProgram(
        name=name,
        exported=exported,
        signature=signature,
        weights=weights,
        tied=tied,
        eager=eager,
        args=(),
        kwargs={},
    )


def _copied(graph: torch.fx.Graph) -> torch.fx.Graph:
    copy = torch.fx.Graph()
    now: dict[torch.fx.Node, torch.fx.Node] = {}
    output = copy.graph_copy(graph, now)
    for old, new in now.items():
        if old.op == "placeholder":
            # A graph renames nodes named like builtins, but the signature refers to the old name.
            new.name = old.name
    copy.output(output)
    return copy


def _placeholder(graph: torch.fx.Graph, node: torch.fx.Node) -> torch.fx.Node:
    placeholder = graph.placeholder(node.name)
    placeholder.name = node.name
    placeholder.meta = {"val": node.meta.get("val")}
    return placeholder


def _lift_constants(module: torch.fx.GraphModule) -> dict[str, torch.Tensor]:
    """Replaces tensors that are attributes of the graph by placeholders named like them."""
    constants: dict[str, torch.Tensor] = {}
    placeholders: dict[str, torch.fx.Node] = {}
    values = [node.meta.get("val") for node in module.graph.nodes]
    mode = detect_fake_mode(pytree.tree_leaves(values))
    for node in list(module.graph.nodes):
        if node.op != "get_attr":
            continue
        tensor = getattr(module, node.target)
        if not isinstance(tensor, torch.Tensor):
            continue
        if node.target not in placeholders:
            with module.graph.inserting_before(next(iter(module.graph.nodes))):
                placeholder = module.graph.placeholder(node.target)
            value = node.meta.get("val")
            if value is None:
                value = mode.from_tensor(tensor, static_shapes=True) if mode else tensor
            placeholder.meta = {"val": value}
            placeholders[node.target] = placeholder
            constants[placeholder.name] = tensor.detach()
        node.replace_all_uses_with(placeholders[node.target])
        module.graph.erase_node(node)
    return constants


def _exported(
    module: torch.fx.GraphModule,
    weights: dict[str, InputSpec],
    constants: dict[str, torch.Tensor],
    state: dict[str, torch.Tensor] | None = None,
    ranges: dict | None = None,
) -> torch.export.ExportedProgram:
    """Returns the graph as an ExportedProgram. Its placeholders are inputs, unless named here.

    Args:
        weights: the specs of the placeholders of weights, by the placeholder's name.
        constants: tensors by name. A placeholder of such a name is bound to it.
        state: parameters and buffers by name.
        ranges: of size symbols; by default those of the graph's shape environment.
    """
    inputs, outputs, values = [], [], []
    for node in module.graph.nodes:
        if node.op == "placeholder":
            values.append(node.meta.get("val"))
            argument = _argument(node)
            if node.name in weights:
                inputs.append(weights[node.name])
            elif node.name in constants:
                inputs.append(InputSpec(InputKind.CONSTANT_TENSOR, argument, node.name))
            else:
                inputs.append(InputSpec(InputKind.USER_INPUT, argument, None))
        elif node.op == "output":
            outputs = [
                OutputSpec(OutputKind.USER_OUTPUT, _argument(value), None) for value in node.args[0]
            ]
    if ranges is None:
        values += [node.meta.get("val") for node in module.graph.nodes]
        mode = detect_fake_mode(pytree.tree_leaves(values))
        environment = mode.shape_env if mode else None
        ranges = dict(environment.var_to_range) if environment else {}
    count = sum(spec.kind == InputKind.USER_INPUT for spec in inputs)
    call = ModuleCallSignature(
        inputs=[],
        outputs=[],
        in_spec=pytree.tree_structure((tuple(range(count)), {})),
        out_spec=pytree.tree_structure(tuple(range(len(outputs)))),
    )
    with warnings.catch_warnings():
        # PyTorch's own code warns when it copies pytree specs.
        warnings.filterwarnings("ignore", category=FutureWarning, module="copyreg")
        return torch.export.ExportedProgram(
            root=module,
            graph=module.graph,
            graph_signature=ExportGraphSignature(inputs, outputs),
            state_dict={} if state is None else state,
            range_constraints=ranges,
            module_call_graph=[ModuleCallEntry("", call)],
            constants=constants,
            # The only verifier that accepts the in-place operators at the end of a training graph.
            verifiers=[TrainingIRVerifier],
        )


def _argument(node: Any) -> Any:
    """Returns the argument of a signature for a node, or for a constant in its place."""
    if not isinstance(node, torch.fx.Node):
        return ConstantArgument(name="", value=node)
    value = node.meta.get("val")
    for kind, argument in _ARGUMENTS:
        if isinstance(value, kind):
            return argument(name=node.name)
    return ConstantArgument(name=node.name, value=value)


def remove_tokens(graph: torch.fx.Graph) -> None:
    """Replaces each call of `with_effects` in a graph by a call of its operator, in place.

    If the graph takes and returns a token, it returns the token that it takes.
    """
    for node in list(graph.nodes):
        if node.target is torch.ops.higher_order.with_effects:
            _call_directly(graph, node)


def _call_directly(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    token, called, *args = node.args
    with graph.inserting_before(node):
        call = graph.call_function(called, tuple(args), dict(node.kwargs))
    # The value of `with_effects` is (token, result, …).
    _token, *values = node.meta["val"]
    several = len(called._schema.returns) > 1
    call.meta = {**node.meta, "val": tuple(values) if several else next(iter(values), None)}
    for element in list(node.users):
        _node, index = element.args
        if index > 0 and several:
            element.args = (call, index - 1)
        else:
            element.replace_all_uses_with(token if index == 0 else call)
            graph.erase_node(element)
    graph.erase_node(node)
