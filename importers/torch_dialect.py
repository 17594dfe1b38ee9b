"""Imports programs into raw torch dialect: a function each, weights as arguments or literals."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch.export.graph_signature import ConstantArgument, InputKind
from torch_mlir import ir
from torch_mlir._mlir_libs import _torchMlir as torch_d
from torch_mlir.dialects import func as func_d
from torch_mlir.extras import fx_importer

from importers.control_flow import ControlFlowImporter
from importers.exporting import capture_hint, output_specs
from importers.node_failure import check_types
from unmess.core.errors.error import Error
from unmess.core.ir.layer import in_layer, node_layer
from unmess.core.ir.literals import SMALL_CONSTANT, WORDS, tensor_literal
from unmess.core.module.module import STRICT_SIZES, Module
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs
from unmess.core.program.weights import check_unchanged, row_major
from unmess.core.signature.signature import Argument
from unmess.core.signature.torch_signature import TorchSignature, memory_misfit

# The operators whose tensors after the first become literals, whatever their size.
_CONSTANT_OPERANDS = ("unmess.rescale.default", "unmess.table.default")


def import_exported(
    program: Program | Programs,
    exported: Mapping[str, torch.export.ExportedProgram],
    weights: str,
) -> Module:
    """Imports ExportedPrograms into the torch dialect. See `Program.import_programs`.

    Args:
        exported: the ExportedProgram of each entry point.
    """
    start = time.perf_counter()
    programs = program.entries
    tensors = program.weights
    check_unchanged({name: part.signature for name, part in programs.items()}, tensors)
    context = ir.Context()
    torch_d.register_dialect(context)
    signatures: dict[str, TorchSignature] = {}
    with context, ir.Location.unknown():
        importer = fx_importer.FxImporter(
            context=context,
            config_check=False,
            hooks=_ZeroCopyLiterals(tensors),
            graph_node_importer_cls=ControlFlowImporter,
        )
        importer._cc = _LayerLocations(context, py_attr_tracker=importer._py_attr_tracker)
        for name, part in programs.items():
            graph = exported[name]
            signatures[name] = _without_literals(part, graph, inline=weights != "external")
            _build(part, graph, signatures[name], importer, name, splat=weights == "splat")
    bound = {a.name for s in signatures.values() for a in s.arguments if a.kind != "input"}
    module = Module(
        name=program.name,
        stage="raw",
        ir=importer.module,
        signature=next(iter(signatures.values())),
        weights={name: tensor for name, tensor in tensors.items() if name in bound},
        weight_mode=weights,
        entry=next(iter(signatures)),
        entries=signatures,
        notes=program.notes,
        seconds=dict(program.seconds),
        program=program,
    )
    module.seconds["import"] = time.perf_counter() - start
    return module


class _LayerLocations(fx_importer.ContextCache):
    """Adds the path of the model's module to the locations of operations."""

    def get_node_location(self, node: torch.fx.Node) -> ir.Location | None:
        location, layer = super().get_node_location(node), node_layer(node)
        if layer is None:
            return location
        return in_layer(location or ir.Location.unknown(self._c), layer)


def _build(
    program: Program,
    exported: torch.export.ExportedProgram,
    signature: TorchSignature,
    importer: fx_importer.FxImporter,
    name: str,
    *,
    splat: bool,
) -> None:
    # Small lifted constants are part of the program, so they are never splats.
    splats = {
        weight
        for weight, tensor in program.weights.items()
        if splat and not _is_literal(program, exported, weight, tensor, inline=False)
    }
    try:
        _EntryFunction(program, exported, signature.arguments, importer, name, splats).build()
    except Error as error:
        # Programs from a fallback strategy often fail here. The hint for the first strategy's
        # failure is then more helpful.
        refused = next((a.error for a in program.attempts if a.error is not None), None)
        if refused is not None:
            error.hint = capture_hint(refused)
        raise


def _without_literals(
    program: Program, exported: torch.export.ExportedProgram, *, inline: bool
) -> TorchSignature:
    """Returns the program's signature without the weights that become literals in the IR."""
    literals = {
        name
        for name, tensor in program.weights.items()
        if _is_literal(program, exported, name, tensor, inline=inline)
    }
    kept = tuple(
        argument
        for argument in program.signature.arguments
        if argument.kind == "input" or argument.name not in literals
    )
    return replace(program.signature, arguments=kept)


def _is_literal(
    program: Program,
    exported: torch.export.ExportedProgram,
    name: str,
    tensor: torch.Tensor,
    *,
    inline: bool,
) -> bool:
    if any(a.name == name and a.kind == "state" for a in program.signature.arguments):
        return False
    lifted = exported.graph_signature.inputs_to_lifted_tensor_constants
    targets = lifted.values() if tensor.numel() <= SMALL_CONSTANT else _constant_operands(exported)
    return inline or any(program.tied.get(target, target) == name for target in targets)


@functools.lru_cache(maxsize=1)
def _constant_operands(exported: torch.export.ExportedProgram) -> tuple[str, ...]:
    """Returns the names of the weights that operators need as constants: factors and tables."""
    lifted = exported.graph_signature.inputs_to_lifted_tensor_constants
    operands = [
        operand
        for node in exported.graph.nodes
        if node.op == "call_function" and str(node.target) in _CONSTANT_OPERANDS
        for operand in node.args[1:]
        if isinstance(operand, torch.fx.Node)
    ]
    return tuple(lifted[each.name] for each in operands if each.name in lifted)


class _ZeroCopyLiterals(fx_importer.FxImporterHooks):
    """Creates literals that reference the tensor's memory, without Python lists."""

    def __init__(self, weights: dict[str, torch.Tensor]):
        self._names = {id(tensor): name for name, tensor in weights.items()}
        self._attributes: dict[int, tuple[torch.Tensor, ir.Attribute]] = {}

    def resolve_literal(self, gni, literal, info):
        if not isinstance(literal, torch.Tensor):
            return None
        tensor_type = fx_importer.create_mlir_tensor_type(literal)
        vtensor_type = gni._cc.tensor_to_vtensor_type(literal)
        if id(literal) not in self._attributes:
            # The reference to the tensor keeps its id from being reused.
            name = self._names.get(id(literal), "constant")
            self._attributes[id(literal)] = (literal, tensor_literal(literal, tensor_type, name))
        _, attribute = self._attributes[id(literal)]
        return ir.Operation.create(
            "torch.vtensor.literal", results=[vtensor_type], attributes={"value": attribute}
        ).result


def _splat(element: torch.Tensor, tensor_type: ir.Type) -> ir.Attribute:
    """Returns a literal whose elements are all equal to the only element of a tensor."""
    if element.dtype == torch.bool:
        value = ir.IntegerAttr.get(ir.IntegerType.get_signless(1), int(element))
        return ir.DenseElementsAttr.get_splat(tensor_type, value)
    if element.is_complex():
        return ir.DenseElementsAttr.get(element.numpy(), type=tensor_type)
    return ir.DenseElementsAttr.get(
        element.view(WORDS[element.element_size()]).numpy(), type=tensor_type
    )


class _EntryFunction:
    """Builds the entry function of a program in an importer's module."""

    def __init__(
        self,
        program: Program,
        exported: torch.export.ExportedProgram,
        arguments: tuple[Argument, ...],
        importer: fx_importer.FxImporter,
        name: str,
        splats: set[str],
    ):
        """Weights in `splats` become literals that repeat their first element."""
        self._splats = splats
        self._program = program
        self._exported = exported
        self._arguments = arguments
        self._importer = importer
        self._name = name
        self._graph = exported.graph
        self._placeholders = {n.name: n for n in self._graph.nodes if n.op == "placeholder"}

    def build(self) -> None:
        check_types(self._graph)
        cache = self._importer._cc
        bound = [self._nodes_of(argument) for argument in self._arguments]
        by_name = {node.name: node for node in self._graph.nodes}
        results = [
            by_name[spec.arg.name]
            for spec in output_specs(self._exported)
            if not isinstance(spec.arg, ConstantArgument)
        ]
        types = ir.FunctionType.get(
            [cache.node_val_to_type(nodes[0]) for nodes in bound],
            [cache.node_val_to_type(node) for node in results],
        )
        function = func_d.FuncOp(
            self._name, types, ip=ir.InsertionPoint(self._importer.module.body)
        )
        # torch.export guarantees that no dynamic size is 1 if the size of another operand is not.
        # So broadcasts need no case distinction at run time.
        function.attributes[STRICT_SIZES] = ir.UnitAttr.get()
        function.arg_attrs = [
            ir.DictAttr.get({f"unmess.{argument.kind}": ir.StringAttr.get(argument.name)})
            for argument in self._arguments
        ]
        locations = [ir.Location.name(argument.name) for argument in self._arguments]
        block = ir.Block.create_at_start(function.body, types.inputs, locations)
        nodes = ControlFlowImporter(self._importer, self._importer._c, cache, block)
        for placeholders, value in zip(bound, block.arguments, strict=True):
            for node in placeholders:
                nodes.bind_node_value(node, value)
        self._bind_literals(nodes, {node for group in bound for node in group})
        self._import_children()
        for node in self._graph.nodes:
            if node.op not in ("placeholder", "output"):
                nodes.import_nodes([node])
        with ir.InsertionPoint(block):
            func_d.ReturnOp([nodes.resolve_node_value(node) for node in results])

    def _nodes_of(self, argument: Argument) -> list[torch.fx.Node]:
        """Returns the placeholders of an argument; a tied weight has several."""
        if argument.kind == "input":
            return [self._placeholders[argument.name]]
        return [self._placeholders[name] for name in self._weight_placeholders(argument.name)]

    def _weight_placeholders(self, weight: str) -> list[str]:
        tied = self._program.tied
        specs = self._exported.graph_signature.input_specs
        return [
            spec.arg.name
            for spec in specs
            if spec.kind != InputKind.USER_INPUT and tied.get(spec.target, spec.target) == weight
        ]

    def _bind_literals(self, nodes, bound: set[torch.fx.Node]) -> None:
        """Binds weights that are not arguments to literals, which are created at their first use.

        Also binds constant inputs.
        """
        for name, tensor in self._program.weights.items():
            for placeholder in map(self._placeholders.get, self._weight_placeholders(name)):
                if placeholder not in bound:
                    nodes.bind_node_value(
                        placeholder, functools.partial(self._literal, nodes, name, tensor)
                    )
        for spec in self._exported.graph_signature.input_specs:
            if isinstance(spec.arg, ConstantArgument):
                node = self._placeholders[spec.arg.name]
                if node.users:
                    nodes.import_constant(ir.Location.unknown(), node, spec.arg.value)

    def _literal(self, nodes, name: str, tensor: torch.Tensor) -> ir.Value:
        if problem := memory_misfit(f"weight {name}", tensor):
            hint = "move the model to the CPU before you capture it, or keep weights external"
            raise Error("import", problem, hint=hint)
        with ir.Location.name(name):
            if name in self._splats and tensor.numel():
                element = row_major(tensor.detach().reshape(-1)[:1])
                value = _splat(element, fx_importer.create_mlir_tensor_type(tensor))
                kind = nodes._cc.tensor_to_vtensor_type(tensor)
                literal = ir.Operation.create(
                    "torch.vtensor.literal", results=[kind], attributes={"value": value}
                )
                return literal.result
            return nodes._import_literal(tensor)

    def _import_children(self) -> None:
        """Imports subgraphs of higher-order operators as separate functions."""
        self._importer._import_all_child_modules(self._exported.graph_module, self._name)
