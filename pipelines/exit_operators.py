"""Operators that torch-mlir's lowerings make something else of, in a form that they have right.

To TOSA and to StableHLO:

- The sum of truth values is `or`; torch-mlir's is `xor`, or an addition that TOSA does not have.
- A reshape may be of dynamic size as a `view` in which that size is left open, and as nothing else.
  What computed the size goes.
- So may a broadcast to sizes that are there already, or that another operand of an elementwise
  operation has: it goes.

To StableHLO:

- With `ceil_mode`, the last window of a max pooling may begin inside of the input and end behind
  its padding. torch-mlir pads both ends for it, so that every window is at another place.
- `remainder` has the sign of the divisor; torch-mlir gives it that of the dividend, as `fmod` has.
- `x ** 0.5` is the square root, which is NaN for -inf.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch_mlir import ir

from pipelines.ir_modules import find_operations
from unmess.core.error import Error
from unmess.core.module import STRICT_SIZES
from unmess.core.user_source import location_line

_POOLS = {
    f"torch.aten.max_pool{axes}d{suffix}": axes
    for axes in (1, 2, 3)
    for suffix in ("", "_with_indices")
}


_RESHAPES = (
    "torch.aten.flatten.using_ints",
    "torch.aten.unflatten.int",
    "torch.aten.reshape",
    "torch.aten.view",
)
_BROADCASTS = ("torch.aten.broadcast_to", "torch.aten.expand")
_ELEMENTWISE = (
    "torch.aten.where.self",
    "torch.aten.maximum",
    "torch.aten.minimum",
    "torch.aten.logical_and",
    "torch.aten.logical_or",
    *(
        f"torch.aten.{name}.Tensor"
        for name in ["add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge"]
    ),
)
# Of no effect but their result.
_NUMBERS = {
    "torch.prim.ListConstruct",
    *(
        f"torch.aten.{op}"
        for op in ["size.int", "numel", "eq.int", "add.int", "sub.int", "mul.int"]
    ),
}


def or_of_truths(module: ir.Module) -> None:
    """Rewrites sums of truth values in a module at `torch`."""
    _rewrite(module, {"torch.aten.add.Tensor": _sum_of_truths})


def leave_sizes_open(module: ir.Module) -> None:
    """Rewrites reshapes and broadcasts of dynamic sizes in a module at `torch`.

    That a size is itself, which splits of dimensions ask, needs no check, and has no form.
    """
    _rewrite(module, dict.fromkeys(_RESHAPES, _view))
    _rewrite(module, dict.fromkeys(_ELEMENTWISE, _take_narrower_operands))
    _rewrite(module, dict.fromkeys(_BROADCASTS, _as_it_is))
    with module.context:
        for check in find_operations(module, lambda each: each.name == "torch.runtime.assert"):
            if _is_true(check.operands[0]):
                check.erase()
        unused = _NUMBERS | set(_BROADCASTS)
        for operation in reversed(find_operations(module, lambda each: each.name in unused)):
            if not any(list(result.uses) for result in operation.results):
                operation.erase()


def for_stablehlo(module: ir.Module) -> None:
    """Rewrites a module at `torch` in place, for StableHLO.

    Poolings of sizes that are not known stay as they are.

    Raises:
        Error: stage `stablehlo`, where the places of the largest elements of windows beyond the
            input are used: they would be those in the padded input.
    """
    remainders = ("torch.aten.remainder.Tensor", "torch.aten.remainder.Scalar")
    _rewrite(
        module,
        {
            **dict.fromkeys(_POOLS, _end_with_windows),
            **dict.fromkeys(remainders, _remainder),
            "torch.aten.pow.Tensor_Scalar": _power,
        },
    )


def _rewrite(
    module: ir.Module, rewritings: Mapping[str, Callable[[ir.Operation], ir.Value | None]]
) -> None:
    """Gives operations to what is there for their names, which gives what takes their place."""
    with module.context:
        for operation in find_operations(module, lambda operation: operation.name in rewritings):
            with ir.InsertionPoint(operation), operation.location:
                result = rewritings[operation.name](operation)
            if result is not None:
                operation.results[0].replace_all_uses_with(result)
                operation.erase()


def _remainder(operation: ir.Operation) -> ir.Value:
    """What torch-mlir makes of it, and once the divisor where the sign is not the divisor's."""
    y = operation.operands[1]
    kind = operation.results[0].type
    truths = _truths(kind)
    suffix = operation.name.rpartition(".")[2]
    left = operation.clone().result
    zero, one = _integer(0), _integer(1)
    if suffix == "Scalar":
        is_other = _made("torch.aten.lt.Scalar", truths, left, zero)
        if _constant(y) < 0:
            is_other = _made("torch.aten.gt.Scalar", truths, left, zero)
    else:
        negative = _made("torch.aten.lt.Scalar", truths, left, zero)
        is_other = _made(
            "torch.aten.ne.Tensor",
            truths,
            negative,
            _made("torch.aten.lt.Scalar", _truths(y.type), y, zero),
        )
        nonzero = _made("torch.aten.ne.Scalar", truths, left, zero)
        is_other = _made("torch.aten.logical_and", truths, is_other, nonzero)
    more = _made(f"torch.aten.add.{suffix}", kind, left, y, one)
    return _made("torch.aten.where.self", kind, is_other, more, left)


def _sum_of_truths(operation: ir.Operation) -> ir.Value | None:
    x, y, _ = operation.operands
    kind = operation.results[0].type
    if not all(_element(value.type) == "i1" for value in (x, y, operation.results[0])):
        return None
    return _made("torch.aten.logical_or", kind, x, y)


def _view(operation: ir.Operation) -> ir.Value | None:
    kind = operation.results[0].type
    sizes = _sizes(kind)
    if sizes.count(None) != 1:
        return None
    sizes = [_integer(-1 if size is None else size) for size in sizes]
    shape = _made("torch.prim.ListConstruct", "!torch.list<int>", *sizes)
    return _made("torch.aten.view", kind, operation.operands[0], shape)


def _is_true(condition: ir.Value) -> bool:
    """Whether it compares a size with itself."""
    equal = _maker(condition, "torch.aten.eq.int")
    if equal is None:
        return False
    sizes = [_maker(value, "torch.aten.size.int") for value in equal.operands]
    if any(size is None for size in sizes):
        return False
    (x, axis), (other, other_axis) = (size.operands for size in sizes)
    if any(_maker(value, "torch.constant.int") is None for value in (axis, other_axis)):
        return False
    return x == other and _constant(axis) == _constant(other_axis)


def _maker(value: ir.Value, name: str) -> ir.Operation | None:
    """The operation that makes a value, if it is one of that name."""
    # A block owns its arguments.
    owner = value.owner
    is_one = not isinstance(owner, ir.Block) and owner.operation.name == name
    return owner.operation if is_one else None


def _as_it_is(broadcast: ir.Operation) -> ir.Value | None:
    x = broadcast.operands[0]
    return x if x.type == broadcast.results[0].type and _has_strict_sizes(broadcast) else None


def _take_narrower_operands(elementwise: ir.Operation) -> None:
    """Has it stretch operands itself, where another one has its sizes."""
    if not _has_strict_sizes(elementwise):
        return
    shape = _shape(elementwise.results[0].type)
    whole = [
        index
        for index, operand in enumerate(elementwise.operands)
        if _shape(operand.type) == shape and not _is_broadcast(operand)
    ]
    for index, operand in enumerate(elementwise.operands):
        if whole and "?" in str(operand.type) and _is_broadcast(operand):
            elementwise.operands[index] = operand.owner.operands[0]


def _is_broadcast(value: ir.Value) -> bool:
    return any(_maker(value, name) is not None for name in _BROADCASTS)


def _shape(kind: ir.Type) -> str:
    return str(kind).rpartition(",")[0]


def _has_strict_sizes(operation: ir.Operation | ir.OpView) -> bool:
    while operation.operation.name != "func.func":
        operation = operation.parent
    return STRICT_SIZES in operation.attributes


def _power(operation: ir.Operation) -> ir.Value | None:
    x, exponent = operation.operands
    kind = operation.results[0].type
    if exponent.owner.operation.name != "torch.constant.float" or _constant(exponent) != 0.5:
        return None
    return _made("torch.aten.sqrt", kind, x)


def _end_with_windows(pool: ir.Operation) -> None:
    """Pads what a max pooling with `ceil_mode` takes, at its end, and takes that from it."""
    if not _constant(pool.operands[5]):
        return
    axes = _POOLS[pool.name]
    x, result = pool.operands[0], pool.results[0]
    sizes, counts = _sizes(x.type)[-axes:], _sizes(result.type)[-axes:]
    if None in (*sizes, *counts):
        return
    kernel, stride, padding, dilation = (
        _list(operand, axes) for operand in list(pool.operands)[1:5]
    )
    missing = [
        (count - 1) * (step or width) + (width - 1) * spread + 1 - size - 2 * margin
        for size, count, width, step, margin, spread in zip(
            sizes, counts, kernel, stride or kernel, padding, dilation, strict=True
        )
    ]
    more = [max(length, 0) for length in missing]
    if any(more) and len(pool.results) > 1 and list(pool.results[1].uses):
        raise Error(
            "stablehlo",
            f"{pool.name.removeprefix('torch.')} with ceil_mode has windows beyond its input, "
            "whose places StableHLO has no form for",
            where=location_line(pool.location),
            hint="pad the input in the model, or try --to linalg",
        )
    if any(more):
        pool.operands[0] = _padded(x, more)
    pool.operands[5] = _made("torch.constant.bool", "!torch.bool", value=ir.BoolAttr.get(False))


def _padded(x: ir.Value, more: list[int]) -> ir.Value:
    """Elements that no maximum is, behind the last ones of the last axes."""
    element = _element(x.type)
    if element.startswith("si"):
        lowest = _integer(-(2 ** (int(element[2:]) - 1)))
    elif element.startswith("ui"):
        lowest = _integer(0)
    else:
        value = ir.FloatAttr.get(ir.F64Type.get(), float("-inf"))
        lowest = _made("torch.constant.float", "!torch.float", value=value)
    ends = [_integer(each) for length in reversed(more) for each in (0, length)]
    pads = _made("torch.prim.ListConstruct", "!torch.list<int>", *ends)
    sizes = _sizes(x.type)
    ended = sizes[: -len(more)]
    ended += [size + length for size, length in zip(sizes[-len(more) :], more, strict=True)]
    shape = ",".join("?" if size is None else str(size) for size in ended)
    kind = f"!torch.vtensor<[{shape}],{element}>"
    return _made("torch.aten.constant_pad_nd", kind, x, pads, lowest)


def _integer(value: int) -> ir.Value:
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    return _made("torch.constant.int", "!torch.int", value=attribute)


def _made(
    name: str, kind: ir.Type | str, *operands: ir.Value, **attributes: ir.Attribute
) -> ir.Value:
    kind = ir.Type.parse(kind) if isinstance(kind, str) else kind
    return ir.Operation.create(name, [kind], operands, attributes).result


def _constant(value: ir.Value) -> float:
    """Of a `torch.constant.int`, `torch.constant.float` or `torch.constant.bool`."""
    return value.owner.operation.attributes["value"].value


def _list(value: ir.Value, length: int) -> list[float]:
    """A list of constants; one that has a single element stands for as many as there are axes."""
    found = [_constant(element) for element in value.owner.operation.operands]
    return found * length if len(found) == 1 else found


def _sizes(kind: ir.Type) -> list[int | None]:
    """Of a `!torch.vtensor<[2,?],f32>`; None for what is not known."""
    shape = str(kind).partition("[")[2].partition("]")[0]
    return [None if size == "?" else int(size) for size in shape.split(",") if size]


def _element(kind: ir.Type) -> str:
    """The element type of a `!torch.vtensor`, such as `f32` or `si64`."""
    return str(kind).rpartition(",")[2].rstrip(">")


def _truths(kind: ir.Type) -> str:
    """The type of as many truth values."""
    return f"{str(kind).rpartition(',')[0]},i1>"
