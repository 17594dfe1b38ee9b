"""Measures the cost of a call of an entry function by operation, kind, layer and source line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pipelines.analysis.arithmetic import element_bytes
from pipelines.analysis.cost import Cost, cost_of
from pipelines.analysis.liveness import Memory, memory_of
from pipelines.analysis.sizes import Size, Sizes, described, is_destination_style
from unmess.core.errors.user_source import location_line
from unmess.core.ir.layer import Layer, location_layer

_CONSTANTS = ("arith.constant", "torch.vtensor.literal", "tosa.const", "stablehlo.constant")


@dataclass(frozen=True)
class OperationCost:
    """The cost of one operation in a call.

    Attributes:
        position: position of the operation, or of its enclosing operation, in the entry block.
        name: name of the operation.
        kind: see `Costed`; empty before linalg, where nothing is counted.
        type: type of its first result.
        layer: the module of the model; None if PyTorch recorded none.
        line: the user's source line as `file:line`, or None.
        times: number of executions per call.
        cost: cost of all these executions.
    """

    position: int
    name: str
    kind: str
    type: str
    layer: Layer | None
    line: str | None
    times: Size
    cost: Cost


@dataclass(frozen=True)
class Weight:
    """A tensor of the model. `layer` is the path of the module that owns it."""

    name: str
    layer: str
    type: str
    elements: Size
    bytes: Size


@dataclass
class Share:
    """The share of a layer, a source line or a kind of operation.

    Attributes:
        name: path of the layer, `file:line`, or the kind; None if unknown.
        type: the layer's class, or empty.
        operations: number of operations, each counted once however often it is executed.
        parameters, weight_bytes: size of the weights that the layer itself owns.
    """

    name: str | None
    type: str = ""
    operations: int = 0
    cost: Cost = field(default_factory=Cost)
    parameters: Size = 0
    weight_bytes: Size = 0


@dataclass(frozen=True)
class Entry:
    """The measurements of one entry function.

    Attributes:
        symbols: the symbols of dynamic sizes, and what each stands for.
        unknown: symbols without a value. Results contain them.
        total: cost of one call.
        formula: `total` with all sizes as symbols; None if no size is dynamic.
        memory: memory of one call; None before linalg.
    """

    name: str
    symbols: dict[str, str]
    values: dict[str, int]
    operations: tuple[OperationCost, ...]
    weights: tuple[Weight, ...]
    total: Cost
    formula: Cost | None
    kinds: tuple[Share, ...]
    layers: tuple[Share, ...]
    lines: tuple[Share, ...]
    memory: Memory | None

    @property
    def unknown(self) -> tuple[str, ...]:
        """Symbols without a value."""
        return tuple(name for name in self.symbols if name not in self.values)

    @property
    def by_position(self) -> dict[int, OperationCost]:
        """The operations by position in the entry block; of a loop's operations, only the first."""
        return {each.position: each for each in reversed(self.operations)}


def measure_entry(
    function: ir.OpView,
    shapes: Sequence[Sequence[int | str]] | None,
    values: Mapping[str, int],
    *,
    with_costs: bool,
) -> Entry:
    """Measures one function.

    Args:
        shapes: shapes of the arguments, dynamic sizes as expressions; None if only the IR is known.
        values: values of symbols.
        with_costs: whether to count arithmetic, bytes and memory, which needs linalg.
    """
    sizes = _sizes(function, shapes, values)
    operations = tuple(_operations(function, sizes, with_costs))
    weights = tuple(_weights(function, sizes))
    memory = memory_of(function, sizes) if with_costs else None
    total = _sum(each.cost for each in operations)
    formula = None
    if sizes.symbols and with_costs:
        symbolic = _sizes(function, shapes, {})
        formula = _sum(each.cost for each in _operations(function, symbolic, with_costs))
        formula = Cost(*(_expanded(number) for number in vars(formula).values()))
    return Entry(
        name=ir.StringAttr(function.attributes["sym_name"]).value,
        symbols=dict(sizes.symbols),
        values={name: values[name] for name in sizes.symbols if name in values},
        operations=operations,
        weights=weights,
        total=total,
        formula=formula,
        kinds=_kinds(operations) if with_costs else (),
        layers=_layers(operations, weights),
        lines=_lines(operations),
        memory=memory,
    )


def _sizes(
    function: ir.OpView, shapes: Sequence[Sequence[int | str]] | None, values: Mapping[str, int]
) -> Sizes:
    arguments = {}
    for index, argument in enumerate(function.regions[0].blocks[0].arguments):
        if not isinstance(argument.type, ir.RankedTensorType):
            continue
        name = _mark(function, index) or f"arg{index}"
        arguments[argument] = [
            f"{name}.{axis}" if argument.type.is_dynamic_dim(axis) else size
            for axis, size in enumerate(argument.type.shape)
        ]
        if shapes is not None:
            arguments[argument] = list(shapes[index])
    return Sizes(arguments, values)


def _mark(function: ir.OpView, index: int, kinds: Iterable[str] = ("input",)) -> str | None:
    """Returns the model's name for an argument; None if its kind is none of `kinds`."""
    if "arg_attrs" not in function.attributes:
        return None
    marks = function.attributes["arg_attrs"][index]
    for kind in kinds:
        if f"unmess.{kind}" in marks:
            return ir.StringAttr(marks[f"unmess.{kind}"]).value
    return None


def _operations(function: ir.OpView, sizes: Sizes, with_costs: bool) -> Iterator[OperationCost]:
    for position, operation in enumerate(function.regions[0].blocks[0].operations):
        yield from _executed(operation.operation, position, 1, sizes, with_costs)


def _executed(
    operation: ir.Operation, position: int, times: Size, sizes: Sizes, with_costs: bool
) -> Iterator[OperationCost]:
    """Yields the costs of an operation and those in its regions, for all their executions.

    Both sides of a branch count.
    """
    if operation.regions and not is_destination_style(operation):
        inner = times * _iterations(operation, sizes) if with_costs else times
        if operation.name != "tensor.generate" and operation.name != "tensor.pad":
            for region in operation.regions:
                for block in region.blocks:
                    for each in block.operations:
                        yield from _executed(each.operation, position, inner, sizes, with_costs)
    if not operation.results:
        return
    costed = cost_of(operation, sizes) if with_costs else None
    if with_costs and costed is None:
        return
    location = operation.location
    yield OperationCost(
        position=position,
        name=operation.name,
        kind=costed.kind if costed else "",
        type=str(operation.results[0].type),
        layer=location_layer(location),
        line=location_line(location),
        times=times,
        cost=costed.cost.times(times) if costed else Cost(),
    )


def _iterations(operation: ir.Operation, sizes: Sizes) -> Size:
    if operation.name == "scf.for":
        lower, upper, step = map(sizes.number, list(operation.operands)[:3])
        return -(-(upper - lower) // step)
    if operation.name == "scf.while":
        return sizes.unknown("trips", f"iterations of {described(operation)}")
    return 1


def _weights(function: ir.OpView, sizes: Sizes) -> Iterator[Weight]:
    block = function.regions[0].blocks[0]
    for index, argument in enumerate(block.arguments):
        name = _mark(function, index, ("weight", "state"))
        if name is not None:
            yield _weight(name, name.rpartition(".")[0], argument.type)
    for operation in block.operations:
        operation = operation.operation
        if operation.name in _CONSTANTS and _is_large(operation.results[0].type):
            location = operation.location
            layer = location_layer(location)
            name = location.name_str if isinstance(location, ir.NameLoc) else operation.name
            owner = layer.path if layer else name.rpartition(".")[0]
            yield _weight(name, owner, operation.results[0].type)


def _weight(name: str, layer: str, type_: ir.Type) -> Weight:
    shape, element = _tensor(type_)
    elements = 1
    for size in shape:
        elements *= size
    return Weight(name, layer, str(type_), elements, elements * element_bytes(element))


def _tensor(type_: ir.Type) -> tuple[list[int], ir.Type]:
    """Returns shape and element type. Those of a torch dialect tensor are parsed from its text."""
    if isinstance(type_, ir.ShapedType):
        return list(type_.shape), type_.element_type
    text = str(type_).removeprefix("!torch.vtensor<[").removesuffix(">")
    shape, _, element = text.partition("],")
    dtype = ir.Type.parse(element.replace("si", "i").replace("ui", "i"), type_.context)
    return [int(size) for size in shape.split(",") if size], dtype


def _is_large(type_: ir.Type) -> bool:
    """Returns whether a literal has more than one element, and so counts as a weight."""
    text = str(type_)
    if not text.startswith(("tensor<", "!torch.vtensor<")):
        return False
    size = 1
    for axis in _tensor(type_)[0]:
        size *= axis
    return size > 1


def _sum(costs: Iterable[Cost]) -> Cost:
    total = Cost()
    for cost in costs:
        total += cost
    return total


def _expanded(number: Size) -> Size:
    return number if isinstance(number, int) else number.expand()


def _kinds(operations: Sequence[OperationCost]) -> tuple[Share, ...]:
    return _shares((each.kind, "", each) for each in operations)


def _layers(operations: Sequence[OperationCost], weights: Sequence[Weight]) -> tuple[Share, ...]:
    shares = {
        share.name: share
        for share in _shares(
            (each.layer.path, each.layer.type, each) if each.layer else (each.line, "", each)
            for each in operations
        )
    }
    for weight in weights:
        share = shares.setdefault(weight.layer, Share(weight.layer))
        share.parameters += weight.elements
        share.weight_bytes += weight.bytes
    return tuple(shares.values())


def _lines(operations: Sequence[OperationCost]) -> tuple[Share, ...]:
    return _shares((each.line, "", each) for each in operations)


def _shares(items: Iterable[tuple[str | None, str, OperationCost]]) -> tuple[Share, ...]:
    """Sums costs by name, in the order of first execution."""
    shares: dict[str | None, Share] = {}
    for name, kind, operation in items:
        share = shares.setdefault(name, Share(name, kind))
        share.operations += 1
        share.cost += operation.cost
    return tuple(shares.values())
