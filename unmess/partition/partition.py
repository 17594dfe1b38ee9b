"""Divides programs: tries what a backend compiles, and leaves the rest to eager PyTorch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind

from importers.capture.fx_graph import graph_program, part_program
from importers.captured_program import CapturedProgram
from importers.exporting import output_specs
from pipelines.backends.executable import Executable
from pipelines.backends.finding import find_backend, identity_of
from pipelines.backends.loading import load
from pipelines.backends.support import check_supported
from pipelines.backends.table import BUILT_IN, REGISTERED
from unmess.core.errors.error import Error
from unmess.core.errors.failure import as_error, only_errors
from unmess.core.errors.stages import LOWERED
from unmess.core.errors.user_source import node_line
from unmess.core.processes.current_stage import current_stage
from unmess.partition.levels import (
    flops_of,
    is_constant,
    is_heavy,
    is_mutable,
    is_operator,
    is_random,
    is_tuple,
    is_view,
    levels_of,
    with_elements,
)
from unmess.partition.operator_lists import OperatorLists
from unmess.partition.options import PartitionOptions
from unmess.partition.partitioned import (
    OutsideOperator,
    PartitionedGraph,
    Region,
    assembled,
)
from unmess.partition.suspects import operator_name, suspects_of
from unmess.probe.answers import answer_path, read_answer, write_answer
from unmess.probe.calls import key_of

# Stored answers about operators depend on the versions of these packages.
_PACKAGES = ("torch", "torch-mlir", "iree-base-compiler")
# Causes of errors that may not occur again.
_PASSING = (OSError, MemoryError)
_RANDOM = "it draws random numbers, from PyTorch's generator as in eager"
# The stages of errors that a program has before its compiled code can run.
BEFORE_RUN = ("import", *LOWERED, "compile", "load")
# The stages at which a backend has accepted the IR, so that the failure is unexpected.
_LATE = ("compile", "load")


@only_errors()
def partition_graph(
    graph_module: torch.fx.GraphModule,
    *,
    backend: str = "reference",
    options: PartitionOptions | None = None,
    name: str = "graph",
    keep_strides: bool = True,
    fallback: str | None = "eager",
) -> PartitionedGraph:
    """Compiles the regions of a graph that a backend supports.

    A graph that compiles as a whole becomes one region. In-place operators on the graph's arguments
    take effect on the arguments of each call. With fallback, operators that draw random numbers run
    in eager PyTorch: with the same seed, their results are eager's.

    Args:
        graph_module: functional ATen operators, with their fake tensors in `node.meta["val"]`, such
            as AOTAutograd's forward or backward graph. It takes tensors and sizes, and returns a
            flat tuple. It is not changed.
        backend: as `on` of `unmess.load`.
        options: see `PartitionOptions`.
        name: of the graph, for messages.
        keep_strides: whether results have the strides of eager PyTorch, where they are known.
            Otherwise, those of regions are in row-major order.
        fallback: None to raise the Error of the first region that does not compile.

    Raises:
        Error: stage `usage` or `capture`; the stage that failed if `fallback` is None, or if an
            operator of `allow_ops` does not compile.
    """
    is_fallback = fallback is not None
    kept = {
        str(node.target).removesuffix(".default")
        for node in graph_module.graph.nodes
        if is_fallback and (is_random(node) or _is_for_gradient(node))
    }
    program = graph_program(graph_module, name, keep_ops=kept)
    divided = Division(program, backend, options, fallback=is_fallback)
    if is_fallback:
        divided.leave_out_random()
    divided.compile()
    specs = program.exported.graph_signature.output_specs
    nodes = {node.name: node for node in program.exported.graph.nodes}
    inputs = program.exported.graph_signature.input_specs
    arguments = [nodes[spec.arg.name] for spec in inputs if spec.kind == InputKind.USER_INPUT]
    results, written = [], []
    for spec in specs:
        value = spec.arg.value if isinstance(spec.arg, ConstantArgument) else nodes[spec.arg.name]
        if spec.kind == OutputKind.USER_OUTPUT:
            results.append(value)
        else:
            written.append((nodes[spec.target], value))
    return divided.graph(arguments, results, written=written, keep_strides=keep_strides)


def _is_for_gradient(node: torch.fx.Node) -> bool:
    """Returns whether the graph uses a result that the decomposition does not compute."""
    if getattr(node.target, "overloadpacket", None) is not torch.ops.aten._ctc_loss:
        return False
    # The second result, the forward variables, is for the gradient only.
    return any(user.target is operator.getitem and user.args[1] == 1 for user in node.users)


@dataclass(frozen=True)
class _Part:
    """Nodes of a region before it is compiled."""

    level: int
    nodes: tuple[torch.fx.Node, ...]
    inputs: tuple[torch.fx.Node, ...]
    outputs: tuple[torch.fx.Node, ...]


class Division:
    """A program that is being divided. `compile` compiles the regions, `graph` returns them.

    Attributes:
        outside: why a node is not compiled, by node.
        warnings: see `PartitionedGraph`.
    """

    def __init__(
        self,
        program: CapturedProgram,
        on: str,
        options: PartitionOptions | None = None,
        *,
        fallback: bool = True,
        on_attempt: Callable[[str], None] = lambda _text: None,
    ):
        """Reads the lists of operators, and what is known about the operators.

        Args:
            on_attempt: called with a text before a region or an operator is compiled.
        """
        self._program = program
        self._graph = program.exported.graph
        self._on = on
        self._backend = find_backend(on)
        self._options = options or PartitionOptions()
        self._fallback = fallback
        self._on_attempt = on_attempt
        self._lists = OperatorLists.read(self._options.allow_ops, self._options.deny_ops)
        self._question = self._asked()
        self._bound = dict(_bound(program))
        self._compiled: dict[tuple[torch.fx.Node, ...], Executable] = {}
        self._verdicts: dict[str, Error | None] = {}
        self._parts: list[_Part] = []
        self._levels: dict[torch.fx.Node, int] = {}
        self._small: dict[torch.fx.Node, str] = {}
        self._failures: set[torch.fx.Node] = set()
        self.outside: dict[torch.fx.Node, str] = {}
        self.warnings: list[str] = []
        if fallback:
            self._leave_out_known()

    def compile(self, first_error: Error | None = None) -> None:
        """Compiles regions until all of them compile.

        Args:
            first_error: the error of the program as a whole, if it was tried.

        Raises:
            Error: see `partition_graph`.
        """
        while True:
            self._divide()
            error, failed = first_error, None
            if error is not None and not self.outside:
                (failed,) = self._parts
            else:
                for part in self._parts:
                    error = self._compile(part)
                    if error is not None:
                        failed = part
                        break
            first_error = None
            if failed is None:
                return
            self._leave_out(error, failed.nodes)

    def graph(
        self,
        arguments: Sequence[torch.fx.Node] | None = None,
        results: Iterable[Any] | None = None,
        written: Iterable[tuple[torch.fx.Node, torch.fx.Node]] = (),
        keep_strides: bool = False,
    ) -> PartitionedGraph:
        """Returns the compiled regions and the rest.

        Args:
            arguments: placeholders; by default those of the inputs and of the state, in the order
                of the signature.
            results: nodes and constants; by default the results of the program's entry function.
            written, keep_strides: see `assembled`.
        """
        if results is None:
            nodes = {node.name: node for node in self._graph.nodes}
            results = [
                nodes[spec.arg.name]
                for spec in output_specs(self._program.exported)
                if not isinstance(spec.arg, ConstantArgument)
            ]
        regions = {
            part.level: Region(
                name=f"region_{number}",
                nodes=part.nodes,
                inputs=part.inputs,
                outputs=part.outputs,
                operators=sum(map(is_operator, part.nodes)),
                flops=sum(map(flops_of, part.nodes)),
                executable=self._compiled[part.nodes],
            )
            for number, part in enumerate(self._parts)
        }
        module = assembled(
            self._program.exported.graph_module,
            self._graph,
            self._levels,
            regions,
            self._arguments() if arguments is None else arguments,
            self._bound,
            list(results),
            written=written,
            keep_strides=keep_strides,
        )
        reasons = self._small | self.outside
        outside = tuple(
            OutsideOperator(
                node,
                operator_name(node),
                reasons[node],
                node_line(node),
                flops_of(node),
                is_failure=node in self._failures,
            )
            for node in self._graph.nodes
            if node in reasons and is_operator(node)
        )
        return PartitionedGraph(module, tuple(regions.values()), outside, tuple(self.warnings))

    def _arguments(self) -> list[torch.fx.Node]:
        nodes = {node.name: node for node in self._graph.find_nodes(op="placeholder")}
        for spec in self._program.exported.graph_signature.input_specs:
            if spec.target is not None:
                nodes[spec.target] = nodes[spec.arg.name]
        arguments = self._program.signature.arguments
        return [nodes[argument.name] for argument in arguments if argument.kind != "weight"]

    def _asked(self) -> list[Any] | None:
        """Returns the settings that stored answers depend on; None if answers cannot be stored."""
        if self._on in REGISTERED and not hasattr(self._backend, "identity"):
            return None
        identity = "" if self._on in BUILT_IN else identity_of(self._backend, self._on)
        about = [str(self._options.target), self._options.unchecked]
        return ["partition", self._on, identity, *about]

    def _leave_out_known(self) -> None:
        """Leaves out operators that are denied, cannot be in a region, or failed before."""
        for node in self._graph.nodes:
            if not is_operator(node):
                continue
            if denied := self._lists.denies(node):
                self._leave_out_node(node, f"{denied} is denied")
            elif is_mutable(node):
                self._leave_out_node(node, "the operator writes to its argument")
            elif is_tuple(node) and any(
                user.op == "call_function" and user not in with_elements([node])
                for user in node.users
            ):
                self._leave_out_node(node, "another operator takes all of its results as a list")
            elif not self._lists.allows(node):
                error = self._known(node)
                if error is not None:
                    self._leave_out_node(node, error)

    def leave_out_random(self) -> None:
        """Leaves out the operators that draw random numbers."""
        for node in self._graph.nodes:
            if is_random(node) and node not in self.outside and not self._lists.allows(node):
                self._leave_out_node(node, _RANDOM)

    def _leave_out_node(self, node: torch.fx.Node, reason: str | Error) -> None:
        if isinstance(reason, Error):
            self._failures.add(node)
            reason = f"{reason.stage}: {reason.cause}"
        for each in with_elements([node]):
            self.outside[each] = reason

    def _divide(self) -> None:
        """Sets the regions, without those that are too small."""
        small: set[torch.fx.Node] = set()
        while True:
            out = {*self.outside, *small}
            self._levels = levels_of(self._graph, out)
            by_level: dict[int, list[torch.fx.Node]] = {}
            for node, level in self._levels.items():
                if node not in out:
                    by_level.setdefault(level, []).append(node)
            tiny = [node for nodes in by_level.values() if self._is_small(nodes) for node in nodes]
            if not tiny or not self.outside:
                break
            small.update(tiny)
        reason = f"its region has fewer than {self._options.min_operators} operators"
        self._small = dict.fromkeys(small, reason)
        inside = dict(sorted(by_level.items()))
        self._parts = [self._part(level, nodes) for level, nodes in inside.items()]

    def _is_small(self, nodes: list[torch.fx.Node]) -> bool:
        if any(is_heavy(node) or self._lists.allows(node) for node in nodes):
            return False
        operators = [node for node in nodes if is_operator(node) and not is_view(node)]
        return len(operators) < self._options.min_operators

    def _part(self, level: int, nodes: Iterable[torch.fx.Node]) -> _Part:
        own = set(nodes)
        # Levels are not in the order of the graph.
        nodes = tuple(node for node in self._graph.nodes if node in own)
        operands = dict.fromkeys(operand for node in nodes for operand in node.all_input_nodes)
        inputs = tuple(
            operand
            for operand in operands
            if operand not in own and operand not in self._bound and not _is_fixed(operand)
        )
        outputs = tuple(node for node in nodes if any(user not in own for user in node.users))
        return _Part(level, nodes, inputs, outputs)

    def _compile(self, part: _Part) -> Error | None:
        """Compiles a region, unless it was compiled before; returns the error."""
        if part.nodes not in self._compiled:
            result = self._try(part)
            if isinstance(result, Error):
                return result
            self._compiled[part.nodes] = result
        return None

    def _try(self, part: _Part) -> Executable | Error:
        self._on_attempt(f"{sum(map(is_operator, part.nodes))} operators")
        try:
            program = part_program(
                self._program, part.nodes, part.inputs, part.outputs, self._program.name
            )
            options = self._options
            module = program.to_module()
            check_supported(self._backend, module)
            return load(module, self._on, options.target, unchecked=options.unchecked)
        except Exception as problem:
            error = as_error(problem, current_stage())
            if error.stage not in BEFORE_RUN:
                raise
            return without_frames(error) if self._fallback else error

    def _leave_out(self, error: Error, nodes: tuple[torch.fx.Node, ...]) -> None:
        """Leaves out the operators that cause an error of a region."""
        if not self._fallback:
            raise error
        groups = suspects_of(error, nodes)
        for group in groups:
            failing = list(self._failing(group))
            if failing:
                for node, reason in failing:
                    self._out(node, reason, error)
                return
            if len(group) < len(groups[-1]):
                # The operator compiles alone, but not together with the others.
                for node in group:
                    self._out(node, error, error, alone=False)
                return
        for node in nodes:
            self._out(node, error, error, alone=False)

    def _out(self, node: torch.fx.Node, reason: Error, error: Error, alone: bool = True) -> None:
        if self._lists.allows(node):
            raise Error(
                reason.stage,
                f"{operator_name(node)} is in allow_ops, but does not compile: {reason.cause}",
                where=node_line(node) or reason.where,
                hint="remove it from allow_ops and from UNMESS_ALLOW_OPS",
                repro=reason.repro,
            ) from error
        self._leave_out_node(node, reason)
        if is_operator(node) and (not alone or reason.stage in _LATE):
            where = node_line(node) or "an unknown line"
            self.warnings.append(
                f"{operator_name(node)} at {where} runs in eager PyTorch, because its region does "
                f"not compile: {reason.stage}: {reason.cause}"
            )

    def _failing(self, nodes: Iterable[torch.fx.Node]) -> Iterator[tuple[torch.fx.Node, Error]]:
        """Yields the nodes whose operator does not compile alone, with the error."""
        for node in nodes:
            error = self._verdict(node)
            if error is not None:
                yield node, error

    def _verdict(self, node: torch.fx.Node) -> Error | None:
        """Compiles a call alone; returns the error. Equal calls are compiled once."""
        key = _key(node)
        if key not in self._verdicts:
            self._on_attempt(operator_name(node))
            own = with_elements([node])
            result = self._try(self._part(0, own))
            error = result if isinstance(result, Error) else None
            self._verdicts[key] = error
            path = self._path(node)
            # Do not store an error, such as a full disk, that is not due to the operator.
            is_lasting = error is not None and not isinstance(error.__cause__, _PASSING)
            if path is not None and is_lasting:
                answer = {"stage": error.stage, "cause": error.cause, "repro": error.repro}
                write_answer(path, {"ok": False, **answer})
        return self._verdicts[key]

    def _known(self, node: torch.fx.Node) -> Error | None:
        """Returns the stored error of a call; None if it has compiled or was never tried."""
        key = _key(node)
        if key not in self._verdicts:
            path = self._path(node)
            answer = None if path is None else read_answer(path)
            if answer is None:
                return None
            self._verdicts[key] = Error(answer["stage"], answer["cause"], repro=answer["repro"])
        return self._verdicts[key]

    def _path(self, node: torch.fx.Node) -> Path | None:
        # The body of a higher-order operator is not in the key of its call.
        if self._question is None or not isinstance(node.target, torch._ops.OpOverload):
            return None
        return answer_path(self._question, _PACKAGES, node)


def without_frames(error: Error) -> Error:
    """Returns an error, which is not raised again, without its tracebacks.

    The variables in their frames would keep programs in memory, in reference cycles.
    """
    problem: BaseException | None = error
    while problem is not None:
        problem.__traceback__ = None
        problem = problem.__cause__ or problem.__context__
    return error


def _is_fixed(node: torch.fx.Node) -> bool:
    """Returns whether a node is a constant argument, or the body of a higher-order operator."""
    return node.op == "get_attr" or (node.op == "placeholder" and is_constant(node))


def _key(node: torch.fx.Node) -> str:
    is_call = isinstance(node.target, torch._ops.OpOverload)
    return key_of(node) if is_call else node.name


def _bound(program: CapturedProgram) -> Iterator[tuple[torch.fx.Node, torch.Tensor]]:
    """Yields the placeholders of weights that no call changes, with their tensors."""
    placeholders = {node.name: node for node in program.exported.graph.find_nodes(op="placeholder")}
    state = {argument.name for argument in program.signature.of_kind("state")}
    for spec in program.exported.graph_signature.input_specs:
        name = program.tied.get(spec.target, spec.target)
        if spec.kind != InputKind.USER_INPUT and name in program.weights and name not in state:
            yield placeholders[spec.arg.name], program.weights[name]
