"""Represents bodies of linalg operations as data-flow graphs, so that equal bodies are equal."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pipelines.analysis.sizes import destinations, indexing_maps
from pipelines.ir.lazy_dialects import arith, linalg
from pipelines.ir.values import producer, terminator

_COMMUTATIVE = re.compile(
    r"arith\.((add|mul)[fi]|(and|or|xor)i|(max|min)(imum|num)f|(max|min)[su]i)"
)
_PREDICATES = {"arith.cmpf": "CmpFPredicate", "arith.cmpi": "CmpIPredicate"}
# Default values of attributes. Labels omit them.
_DEFAULTS = {
    "fastmath": "#arith.fastmath<none>",
    "overflowFlags": "#arith.overflow<none>",
    "roundingmode": "#arith.roundingmode<to_nearest_even>",
}
_TEXTLESS = ("predicate", "operandSegmentSizes")
# Expressions with more operations than this are split.
_LONG = 12


@dataclass(frozen=True)
class Node:
    """A value in a body. The last node of a body is its `yield`.

    Attributes:
        kind: `input`, `output` (the old value of the result's element), `constant`, `captured`
            (from outside the body), `operation` or `yield`.
        label: the text to show: `in0`, `out0`, `0.5`, `cmpf ugt`, …
        type: the type of the value; empty for `yield`.
        operands: positions of other nodes, which precede this one.
    """

    kind: str
    label: str
    type: str
    operands: tuple[int, ...] = ()


@dataclass(frozen=True)
class Body:
    """The used nodes of a body in topological order.

    Operands of commutative operations are sorted, and equal values share a node. So bodies that
    compute the same in the same way are equal.
    """

    nodes: tuple[Node, ...]

    def __str__(self) -> str:
        """Returns expressions, one per line: values used more than once first, results last."""
        uses = [0] * len(self.nodes)
        for node in self.nodes:
            for operand in node.operands:
                uses[operand] += 1
        texts: list[str] = []
        lengths: list[int] = []
        lines: list[str] = []
        for index, node in enumerate(self.nodes):
            operands = [texts[operand] for operand in node.operands]
            length = sum(lengths[operand] for operand in node.operands) + 1
            if node.kind == "yield":
                lines.append(f"yield {', '.join(operands)}")
                break
            text = node.label
            if node.kind == "operation":
                text = f"{node.label}({', '.join(operands)})"
                if operands and (uses[index] > 1 or length > _LONG):
                    lines.append(f"t{len(lines)} = {text}")
                    text, length = f"t{len(lines) - 1}", 0
            else:
                length = 0
            texts.append(text)
            lengths.append(length)
        return "\n".join(lines)


@dataclass(frozen=True)
class Form:
    """The operation that applies a body, with its loops, maps and types.

    Attributes:
        operation: `linalg.generic`, or a named operation.
        iterators: `parallel` or `reduction`, by loop.
        maps: maps from loops to elements, by operand, results last.
        elements: element types by operand, results last.
    """

    operation: str
    iterators: tuple[str, ...]
    maps: tuple[str, ...]
    elements: tuple[str, ...]


@dataclass
class BodyGroup:
    """All operations with the same body; `forms` counts them by form."""

    body: Body
    forms: dict[Form, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of operations that have the body."""
        return sum(self.forms.values())

    @property
    def operations(self) -> dict[str, int]:
        """The number of operations that have the body, by name."""
        found: dict[str, int] = {}
        for form, count in self.forms.items():
            found[form.operation] = found.get(form.operation, 0) + count
        return found


def group_bodies(structured: Sequence[ir.Operation]) -> list[BodyGroup]:
    """Groups linalg operations by their body, the most frequent first."""
    groups: dict[Body, BodyGroup] = {}
    for operation in structured:
        body = body_of(operation)
        group = groups.setdefault(body, BodyGroup(body))
        form = form_of(operation)
        group.forms[form] = group.forms.get(form, 0) + 1
    return sorted(groups.values(), key=lambda group: -group.count)


def iterators(structured: ir.Operation) -> tuple[str, ...]:
    """Returns `parallel` or `reduction` for each loop; a loop that indexes a result is parallel."""
    maps = indexing_maps(structured)
    results = maps[len(maps) - len(destinations(structured)) :]
    parallel = {
        ir.AffineDimExpr(expression).position
        for indexing in results
        for expression in indexing.results
        if isinstance(expression, ir.AffineDimExpr)
    }
    return tuple("parallel" if d in parallel else "reduction" for d in range(maps[0].n_dims))


def form_of(structured: ir.Operation) -> Form:
    """Returns the form in which a linalg operation applies its body."""
    operands = list(structured.operands)
    return Form(
        structured.name,
        iterators(structured),
        tuple(
            str(each).removeprefix("affine_map<").removesuffix(">")
            for each in linalg.get_indexing_maps(structured)
        ),
        tuple(str(_element(operand.type)) for operand in operands),
    )


def body_of(structured: ir.Operation) -> Body:
    """Returns the body of a linalg operation."""
    block = structured.regions[0].blocks[0]
    builder = _Builder(block, len(block.arguments) - len(destinations(structured)))
    results = [builder.add(operand) for operand in terminator(block).operands]
    return Body((*builder.nodes, Node("yield", "yield", "", tuple(results))))


class _Builder:
    def __init__(self, block: ir.Block, inputs: int):
        self._block = block
        self._inputs = inputs
        self.nodes: list[Node] = []
        self._positions: dict[Node, int] = {}
        self._digests: dict[ir.Value, bytes] = {}

    def add(self, value: ir.Value) -> int:
        """Adds nodes for `value` and its operands if missing, and returns its position."""
        node = self._leaf(value) or self._operation(value)
        if node not in self._positions:
            self._positions[node] = len(self.nodes)
            self.nodes.append(node)
        return self._positions[node]

    def _leaf(self, value: ir.Value) -> Node | None:
        kind = str(_element(value.type))
        operation = producer(value)
        if operation is None:
            if value.owner != self._block:
                return Node("captured", _captured(value), kind)
            number = ir.BlockArgument(value).arg_number
            if number < self._inputs:
                return Node("input", f"in{number}", kind)
            return Node("output", f"out{number - self._inputs}", kind)
        if operation.name == "arith.constant":
            return Node("constant", _constant(operation.attributes["value"]), kind)
        return None if operation.block == self._block else Node("captured", _captured(value), kind)

    def _operation(self, value: ir.Value) -> Node:
        operation = value.owner.operation
        operands = list(operation.operands)
        if _COMMUTATIVE.fullmatch(operation.name):
            operands.sort(key=self._digest)
        return Node(
            "operation", _label(operation, value), str(value.type), tuple(map(self.add, operands))
        )

    def _digest(self, value: ir.Value) -> bytes:
        """Returns a digest that is equal for equal values and independent of their positions."""
        if value not in self._digests:
            leaf = self._leaf(value)
            if leaf is not None:
                # Inputs come before constants, which is easier to read.
                content = f"{leaf.label} {leaf.type}".encode()
                rank = {"output": b"0", "input": b"1", "captured": b"3"}.get(leaf.kind, b"4")
                self._digests[value] = rank + content
            else:
                operation = value.owner.operation
                parts = [self._digest(operand) for operand in operation.operands]
                if _COMMUTATIVE.fullmatch(operation.name):
                    parts.sort()
                parts.insert(0, f"{_label(operation, value)} {value.type}".encode())
                self._digests[value] = b"2" + hashlib.sha1(b"\0".join(parts)).digest()
        return self._digests[value]


def _label(operation: ir.Operation, value: ir.Value) -> str:
    name = operation.name.removeprefix("arith.").removeprefix("math.")
    attributes = operation.attributes
    parts = [name]
    if operation.name in _PREDICATES:
        predicates = getattr(arith, _PREDICATES[operation.name])
        predicate = predicates(ir.IntegerAttr(attributes["predicate"]).value)
        parts.append(predicate.name.lower())
    if operation.name == "linalg.index":
        return f"index{ir.IntegerAttr(attributes['dim']).value}"
    if len(operation.results) > 1:
        parts.append(f"#{ir.OpResult(value).result_number}")
    for key in attributes:
        text = str(attributes[key])
        if key not in _TEXTLESS and _DEFAULTS.get(key) != text:
            parts.append(f"{key}={text}")
    if operation.regions:
        # Operations with regions are compared by their text.
        spelled = operation.get_asm(assume_verified=True, use_local_scope=True)
        parts.append(hashlib.sha1(spelled.encode()).hexdigest()[:8])
    return " ".join(parts)


def _captured(value: ir.Value) -> str:
    return "tensor" if isinstance(value.type, ir.ShapedType) else "scalar"


def _constant(attribute: ir.Attribute) -> str:
    if isinstance(attribute, ir.FloatAttr):
        return f"{ir.FloatAttr(attribute).value:.7g}"
    if isinstance(attribute, ir.BoolAttr):
        return str(ir.BoolAttr(attribute).value).lower()
    if isinstance(attribute, ir.IntegerAttr):
        return str(ir.IntegerAttr(attribute).value)
    return str(attribute)


def _element(type_: ir.Type) -> ir.Type:
    return ir.ShapedType(type_).element_type if isinstance(type_, ir.ShapedType) else type_
