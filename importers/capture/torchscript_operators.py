"""Evaluates nodes of a TorchScript graph on tensors and Python values."""

from __future__ import annotations

import collections
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.errors.error import Error, first_line

# The values of c10::ScalarType.
_DTYPES = {
    0: torch.uint8,
    1: torch.int8,
    2: torch.int16,
    3: torch.int32,
    4: torch.int64,
    5: torch.float16,
    6: torch.float32,
    7: torch.float64,
    8: torch.complex32,
    9: torch.complex64,
    10: torch.complex128,
    11: torch.bool,
    12: torch.qint8,
    13: torch.quint8,
    14: torch.qint32,
    15: torch.bfloat16,
    23: torch.float8_e5m2,
    24: torch.float8_e4m3fn,
    25: torch.float8_e5m2fnuz,
    26: torch.float8_e4m3fnuz,
    27: torch.uint16,
    28: torch.uint32,
    29: torch.uint64,
}
_DTYPE_CODES = {dtype: code for code, dtype in _DTYPES.items()}
_MEMORY_FORMATS = {
    0: torch.contiguous_format,
    1: torch.preserve_format,
    2: torch.channels_last,
    3: torch.channels_last_3d,
}
# TorchScript passes these as integers; the operators require the objects.
_CODED = {"ScalarType": _DTYPES, "MemoryFormat": _MEMORY_FORMATS, "Layout": {0: torch.strided}}


class _Raised(Exception):
    """An exception that the scripted code raises."""


def call(node: torch._C.Node, operands: list[Any]) -> Any:
    """Evaluates a node: returns one value, or a sequence if it has several outputs.

    Raises:
        Error: stage `capture`, for a node that has no equivalent in Python; stage `source`, if the
            scripted code raises an exception.
    """
    kind = node.kind()
    try:
        special = _SPECIAL.get(kind)
        if special is not None:
            return special(node, *operands)
        if any(isinstance(value, SizeTensor) for value in operands):
            tensors = any(isinstance(value, torch.Tensor) for value in operands)
            if not tensors and (kind in _ON_SIZES or kind in _FROM_SIZES):
                return _call_on_sizes(kind, operands)
            operands = without_size_tensors(operands)
        if kind in _ON_ANYTHING:
            return _ON_ANYTHING[kind](*operands)
        if kind in _ON_VALUES and not any(isinstance(v, torch.Tensor) for v in operands):
            return _ON_VALUES[kind](*operands)
        return _operator(node, without_size_tensors(operands))
    except _Raised as raised:
        raise Error(
            "source",
            f"the scripted code raises {raised}",
            hint="the example arguments do not fit the model",
        ) from None


def _operator(node: torch._C.Node, operands: list[Any]) -> Any:
    """Calls the operator that the node's schema names."""
    schema = node.schema()
    if schema == "(no schema)":
        raise _no_form(node, "it has no schema")
    schema = torch._C.parse_schema(schema)
    namespace, name = schema.name.split("::")
    try:
        packet = getattr(getattr(torch.ops, namespace), name)
        overload = getattr(packet, schema.overload_name or "default")
    except AttributeError as problem:
        raise _no_form(node, first_line(problem)) from problem
    if node.hasAttribute("source"):
        # Lazy tensors are functional: they record views as copies.
        if overload is torch.ops.aten.native_batch_norm.default:
            return _normalized(*operands)
        overload = _view_of(overload)
    arguments = overload._schema.arguments
    keywords, positional = {}, []
    for argument, value in zip(arguments, operands, strict=False):
        value = _decoded(value, str(argument.real_type))
        if argument.kwarg_only:
            keywords[argument.name] = value
        else:
            positional.append(value)
    return overload(*positional, **keywords)


def _normalized(x, weight, bias, mean, variance, training, momentum, eps) -> tuple:
    """Evaluates `native_batch_norm` outside training, where nothing uses its other results."""
    batch_norm = torch.ops.aten.batch_norm.default
    result = batch_norm(x, weight, bias, mean, variance, training, momentum, eps, False)
    return result, None, None


def _view_of(overload: torch._ops.OpOverload) -> torch._ops.OpOverload:
    """Returns `aten.view.default` for `aten.view_copy.default`."""
    name = overload._overloadpacket.__name__
    view = getattr(torch.ops.aten, name.removesuffix("_copy"), None)
    if not name.endswith("_copy") or view is None:
        return overload
    return getattr(view, overload._overloadname, overload)


def _no_form(node: torch._C.Node, reason: str) -> Error:
    return Error(
        "capture",
        f"the TorchScript node {node.kind()} cannot be converted to an ExportedProgram: {reason}",
        hint="export the PyTorch model itself (torch.export.save to a .pt2 file)",
    )


def _decoded(value: Any, type_: str) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        for name, objects in _CODED.items():
            if name in type_:
                return objects.get(value, value)
    return value


def _dtype(code: int | torch.dtype | None) -> torch.dtype | None:
    return _DTYPES[code] if isinstance(code, int) else code


def _tensor(_node, data, dtype=None, device=None, _requires_grad=False) -> torch.Tensor:
    if isinstance(data, torch.Tensor):
        return data.detach().clone().to(dtype=_dtype(dtype), device=device)
    leaves = pytree.tree_leaves(data)
    if any(isinstance(leaf, (torch.Tensor, torch.SymInt, torch.SymFloat)) for leaf in leaves):
        return _stacked(data, _dtype(dtype))
    # As in TorchScript, float literals are float32 and ints are int64.
    return torch.tensor(data, dtype=_dtype(dtype), device=device)


def _stacked(data: Any, dtype: torch.dtype | None) -> torch.Tensor:
    """Creates a tensor from nested lists with numbers that are only known at run time."""
    if isinstance(data, (list, tuple)):
        return torch.stack([_stacked(item, dtype) for item in data])
    if isinstance(data, torch.Tensor):
        return data.to(dtype) if dtype is not None else data
    if dtype is None:
        dtype = torch.int64 if isinstance(data, (int, torch.SymInt)) else torch.float32
    return torch.scalar_tensor(data, dtype=dtype)


class SizeTensor:
    """The result of `prim::NumToTensor`: a size that the traced code uses as a tensor.

    It stays a number in the arithmetic that tracing records on sizes, so a symbolic size stays
    symbolic. Other operators get a tensor.
    """

    def __init__(self, number: Any, dtype: torch.dtype | None = None):
        self.number = number
        self.dtype = dtype

    def tensor(self) -> torch.Tensor:
        """Returns a scalar tensor of `dtype`, by default int64 or float32."""
        if isinstance(self.number, (torch.SymInt, torch.SymFloat)):
            return _stacked(self.number, None)
        return torch.tensor(self.number, dtype=self.dtype)


def without_size_tensors(value: Any) -> Any:
    """Replaces each `SizeTensor` in `value` by a tensor."""
    return pytree.tree_map_only(SizeTensor, SizeTensor.tensor, value)


def _divided(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    # Sizes are not negative, so `floor` and `trunc` are the same.
    return a / b if rounding_mode is None else a // b


# The arithmetic that tracing records on sizes, and the conversions back to numbers.
_ON_SIZES: dict[str, Callable[..., Any]] = {
    "aten::add": lambda a, b, alpha=1: a + b * alpha,
    "aten::sub": lambda a, b, alpha=1: a - b * alpha,
    "aten::rsub": lambda a, b, alpha=1: b - a * alpha,
    "aten::mul": operator.mul,
    "aten::div": _divided,
    "aten::floor_divide": operator.floordiv,
    "aten::remainder": operator.mod,
}
_FROM_SIZES = ("aten::Int", "aten::ScalarImplicit", "aten::IntImplicit", "aten::item")


def _call_on_sizes(kind: str, operands: list[Any]) -> Any:
    numbers = [value.number if isinstance(value, SizeTensor) else value for value in operands]
    if kind in _FROM_SIZES:
        return numbers[0]
    return SizeTensor(_ON_SIZES[kind](*numbers))


def _raise(_node, *operands) -> None:
    message, *kind = operands
    name = str(kind[0]).rpartition(".")[2] if kind and kind[0] else "Exception"
    raise _Raised(f"{name}: {message}")


def _number(kind: type) -> Callable[..., Any]:
    def convert(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            value = value.item()
            if kind is bool:
                return value if isinstance(value, (bool, torch.SymBool)) else value != 0
        if kind is int and isinstance(value, torch.SymInt):
            return value
        if kind is float and isinstance(value, torch.SymFloat):
            return value
        if kind is float and isinstance(value, torch.SymInt):
            return torch.sym_float(value)
        return kind(value)

    return convert


def _tuple(node: torch._C.Node, *items: Any) -> tuple:
    type_ = node.output().type()
    left = type_.str()
    if not left.startswith("NamedTuple("):
        return items
    left, fields = left.removeprefix("NamedTuple("), []
    for element in type_.elements():
        field, _, left = left.partition(" : ")
        fields.append(field)
        left = left.removeprefix(element.str()).removeprefix(", ")
    name = type_.annotation_str.rpartition(".")[2]
    return _named_tuple_class(name, tuple(fields))(*items)


@functools.cache
def _named_tuple_class(name: str, fields: tuple[str, ...]) -> type[tuple]:
    # TorchScript creates a new class in each call. Cache it, so that the pytree type is always the
    # same.
    return collections.namedtuple(name, fields)


def _set_item(container: Any, key: Any, value: Any) -> Any:
    container[key] = value
    return container


def _append(items: list, item: Any) -> list:
    items.append(item)
    return items


def _extend(items: list, others: list) -> list:
    items.extend(others)
    return items


def _insert(items: list, index: int, item: Any) -> list:
    items.insert(index, item)
    return items


def _delete(container: Any, key: Any) -> None:
    del container[key]


def _update(mapping: dict, other: dict) -> None:
    mapping.update(other)


def _slice(items: Any, start: int | None, end: int | None, step: int | None = 1) -> Any:
    return items[start:end:step]


def _dict(node: torch._C.Node, *operands: Any) -> dict:
    return dict(zip(operands[::2], operands[1::2], strict=True))


# Functions that get the node before its operands.
_SPECIAL: dict[str, Callable[..., Any]] = {
    "prim::ListConstruct": lambda _node, *items: list(items),
    "prim::TupleConstruct": _tuple,
    "prim::DictConstruct": _dict,
    "prim::RaiseException": _raise,
    "prim::Uninitialized": lambda _node: None,
    "prim::Print": lambda _node, *values: print(*values),
    "aten::tensor": _tensor,
    "aten::as_tensor": _tensor,
}

# Functions whose operands may include tensors.
_ON_ANYTHING: dict[str, Callable[..., Any]] = {
    "prim::TupleUnpack": tuple,
    "prim::ListUnpack": tuple,
    "prim::TupleIndex": lambda items, index: items[index],
    "prim::TupleSlice": lambda items, begin, end: items[begin:end],
    "prim::unchecked_cast": lambda value: value,
    "prim::unchecked_unwrap_optional": lambda value: value,
    "aten::_unwrap_optional": lambda value: value,
    "aten::wait": lambda value: value,
    "prim::data": lambda tensor: tensor.detach(),
    "prim::dtype": lambda tensor: _DTYPE_CODES[tensor.dtype],
    "prim::device": lambda tensor: tensor.device,
    "prim::layout": lambda tensor: 0,
    "prim::is_cuda": lambda tensor: tensor.is_cuda,
    "prim::is_cpu": lambda tensor: tensor.device.type == "cpu",
    "prim::is_quantized": lambda tensor: tensor.is_quantized,
    "prim::requires_grad": lambda tensor: tensor.requires_grad,
    "prim::shape": lambda tensor: list(tensor.shape),
    "prim::NumToTensor": SizeTensor,
    "prim::tolist": lambda tensor, *_: tensor.tolist(),
    "aten::size": lambda tensor, dim=None: list(tensor.shape) if dim is None else tensor.shape[dim],
    "aten::stride": lambda tensor, dim=None: (
        list(tensor.stride()) if dim is None else tensor.stride(dim)
    ),
    "aten::numel": lambda tensor: tensor.numel(),
    "aten::dim": lambda tensor: tensor.dim(),
    "aten::is_floating_point": lambda tensor: tensor.is_floating_point(),
    "aten::is_complex": lambda tensor: tensor.is_complex(),
    "aten::__is__": operator.is_,
    "aten::__isnot__": operator.is_not,
    "aten::__not__": torch.sym_not,
    "aten::len": len,
    "aten::append": _append,
    "aten::extend": _extend,
    "aten::insert": _insert,
    "aten::_set_item": _set_item,
    "aten::__getitem__": operator.getitem,
    "aten::Delete": _delete,
    "aten::pop": lambda container, *key: container.pop(*key),
    "aten::clear": lambda container: container.clear(),
    "aten::reverse": lambda items: items.reverse(),
    "aten::copy": lambda container: container.copy(),
    "aten::keys": lambda mapping: list(mapping),
    "aten::values": lambda mapping: list(mapping.values()),
    "aten::items": lambda mapping: list(mapping.items()),
    "aten::get": lambda mapping, key, default=None: mapping.get(key, default),
    "aten::update": _update,
    "aten::list": list,
    "aten::dict": dict,
    "aten::Int": _number(int),
    "aten::Float": _number(float),
    "aten::Bool": _number(bool),
    "aten::IntImplicit": _number(int),
    "aten::FloatImplicit": _number(float),
    "aten::ScalarImplicit": lambda value: (
        value.item() if isinstance(value, torch.Tensor) else value
    ),
    "aten::Complex": complex,
    "prim::id": id,
}

# Functions on operands without tensors: numbers, which may be symbolic, strings and lists.
_ON_VALUES: dict[str, Callable[..., Any]] = {
    "aten::add": lambda a, b, alpha=1: a + b if alpha == 1 else a + b * alpha,
    "aten::add_": lambda a, b: _extend(a, b),
    "aten::sub": lambda a, b, alpha=1: a - b * alpha,
    "aten::rsub": lambda a, b, alpha=1: b - a * alpha,
    "aten::mul": operator.mul,
    "aten::div": operator.truediv,
    "aten::floordiv": operator.floordiv,
    "aten::floor_divide": operator.floordiv,
    "aten::remainder": operator.mod,
    "aten::fmod": math.fmod,
    "aten::pow": operator.pow,
    "aten::neg": operator.neg,
    "aten::abs": abs,
    "prim::abs": abs,
    "aten::floor": math.floor,
    "aten::ceil": math.ceil,
    "aten::round": round,
    "aten::sqrt": lambda a: torch.sym_sqrt(a) if isinstance(a, torch.SymInt) else math.sqrt(a),
    "aten::exp": math.exp,
    "aten::log": math.log,
    "aten::sin": math.sin,
    "aten::cos": math.cos,
    "aten::tanh": math.tanh,
    "prim::max": max,
    "prim::min": min,
    "aten::sum": sum,
    "aten::sorted": sorted,
    "aten::index": lambda items, *rest: items.index(*rest),
    "aten::count": lambda items, item: items.count(item),
    "aten::eq": operator.eq,
    "aten::ne": operator.ne,
    "aten::lt": operator.lt,
    "aten::le": operator.le,
    "aten::gt": operator.gt,
    "aten::ge": operator.ge,
    "aten::__and__": operator.and_,
    "aten::__or__": operator.or_,
    "aten::__xor__": operator.xor,
    "aten::__lshift__": operator.lshift,
    "aten::__rshift__": operator.rshift,
    "aten::__contains__": operator.contains,
    "aten::slice": _slice,
    "aten::str": str,
    "aten::format": lambda text, *values: text.format(*values),
    "aten::ord": ord,
    "aten::chr": chr,
    "aten::join": lambda text, items: text.join(items),
    "aten::startswith": lambda text, *rest: text.startswith(*rest),
    "aten::endswith": lambda text, *rest: text.endswith(*rest),
}
