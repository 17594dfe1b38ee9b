"""A call of one operator, with everything that its speed depends on but the values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

# The operators of each family, by name; a star stands for any end.
FAMILIES = {
    "convolution": ("conv1d", "conv2d", "conv3d", "conv_transpose*", "convolution"),
    "pooling": ("avg_pool*", "max_pool*", "adaptive_*", "fractional_*", "lp_pool*"),
    "product": (
        *("linear", "matmul", "mm", "bmm", "addmm", "addmv", "addbmm", "baddbmm", "mv", "dot"),
        *("einsum", "bilinear", "scaled_dot_product_attention"),
    ),
    "normalization": (
        *("batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm"),
        *("softmax", "log_softmax", "linalg_vector_norm", "norm", "_weight_norm"),
    ),
    "scatter": (
        *("scatter*", "index_put*", "index_add*", "index_copy*", "index_fill*", "masked_scatter*"),
        *("gather", "index", "index_select", "embedding", "embedding_bag", "take_along_dim"),
    ),
    "resize": ("upsample_*", "_upsample_*", "grid_sampler*", "pixel_shuffle", "pixel_unshuffle"),
    "recurrent": ("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_*_cell"),
    "quantized": ("quantized",),
}
# Integers above this one are sizes, which do not distinguish kinds.
_SIZE = 16


@dataclass(frozen=True)
class Configuration:
    """A call of an operator.

    Attributes:
        operator: the name of an overload, such as `aten.conv2d.default`, or `quantized.CLASS`.
        args: the arguments as JSON values, by name. A tensor is
            `{"shape": [...], "dtype": "float32", "is_weight": true}`, and a dtype is
            `{"is_dtype": "float32"}`.
    """

    operator: str
    args: dict[str, Any]

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def key(self) -> str:
        """A digest that identifies the configuration."""
        text = json.dumps([self.operator, self.args], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def family(self) -> str:
        """The family of the operator."""
        return family_of(self.operator)

    @property
    def kind(self) -> str:
        """The operator and its options, without sizes. Configurations of a kind take one path."""
        return json.dumps([self.operator, _without_sizes(self.args)], sort_keys=True)

    @property
    def elements(self) -> int:
        """The number of elements of all tensors."""
        return sum(_elements(each["shape"]) for each in tensors_in(self.args))

    def __str__(self) -> str:
        parts = [f"{name}={_text(value)}" for name, value in self.args.items() if value is not None]
        name = self.operator.removeprefix("aten.").removesuffix(".default")
        return f"{name}({', '.join(parts)})"


def family_of(operator: str) -> str | None:
    """Returns the family of an operator, or None."""
    namespace, _, rest = operator.partition(".")
    if namespace == "quantized":
        return "quantized"
    if namespace != "aten":
        return None
    name = rest.partition(".")[0]
    for family, patterns in FAMILIES.items():
        if any(
            name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
            for pattern in patterns
        ):
            return family
    return None


def configuration_of(node: torch.fx.Node, weights: set[torch.fx.Node]) -> Configuration | None:
    """Returns the configuration of a call; None for other families and for dynamic sizes.

    An in-place operator counts as the functional one.

    Args:
        weights: the nodes that depend only on parameters and buffers.
    """
    overload = _functional(node.target)
    if overload is None or family_of(str(overload)) is None:
        return None
    names = [argument.name for argument in overload._schema.arguments]
    given = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    try:
        args = {name: _value(each, weights) for name, each in given.items()}
    except TypeError:
        return None
    return Configuration(str(overload), args)


def tensors_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yields the tensors among arguments, in order."""
    if isinstance(value, dict) and "shape" in value:
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(each)


def _functional(target: Any) -> torch._ops.OpOverload | None:
    if not isinstance(target, torch._ops.OpOverload):
        return None
    if not target._schema.is_mutable:
        return target
    name, _, overload = str(target).removeprefix("aten.").partition(".")
    packet = getattr(torch.ops.aten, name.removesuffix("_"), None)
    return getattr(packet, overload, None)


def _value(value: Any, weights: set[torch.fx.Node]) -> Any:
    if isinstance(value, torch.fx.Node):
        tensor = value.meta.get("val")
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{value} is no tensor")
        if not all(isinstance(size, int) for size in tensor.shape):
            raise TypeError(f"{value} has dynamic sizes")
        return {
            "shape": list(tensor.shape),
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "is_weight": value in weights,
        }
    if isinstance(value, (list, tuple)):
        return [_value(each, weights) for each in value]
    if isinstance(value, torch.dtype):
        return {"is_dtype": str(value).removeprefix("torch.")}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{value!r} has no JSON form")


def _without_sizes(value: Any, name: str = "") -> Any:
    if isinstance(value, dict) and "shape" in value:
        # A convolution has no option for its kernel size, so it is read from the weight.
        window = value["shape"][2:] if name == "weight" else len(value["shape"])
        return [window, value["dtype"], value["is_weight"]]
    if isinstance(value, dict):
        return {key: _without_sizes(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_sizes(each) for each in value]
    if name == "groups":
        return value > 1
    return "size" if type(value) is int and value > _SIZE else value


def _elements(shape: list[int]) -> int:
    return int(torch.Size(shape).numel())


def _text(value: Any) -> str:
    if isinstance(value, dict) and "shape" in value:
        dtype = value["dtype"].replace("float", "f").replace("int", "i")
        return "×".join(map(str, [*value["shape"], dtype]))
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return str(value)
