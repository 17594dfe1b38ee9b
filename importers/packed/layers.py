"""Layers with packed weights, which the program unpacks: `Linear` and `Embedding` of `torch.nn`."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Mapping

import torch
from torch.nn import functional

from importers.packed.format import Packing
from importers.packed.layout import PackedMatrix
from importers.packed.operator import unpack


class PackedWeight(torch.nn.Module):
    """A matrix in a packed format; calling it computes the matrix.

    Its tensors are buffers: `integers`, `scales` and others, depending on the format. They are
    exact and keep their dtypes if the model is converted to another one. Only the matrix follows.

    Attributes:
        format: how the buffers represent the matrix.
        dtype: the dtype of the matrix.
        columns: a buffer, int64: for each column of the matrix, the input of the layer that it
            belongs to. None if they are in order.
    """

    def __init__(
        self,
        format: Packing,
        parts: Mapping[str, torch.Tensor],
        columns: torch.Tensor | None = None,
    ):
        super().__init__()
        self.format = format
        self.dtype = torch.float32
        self.register_buffer("columns", columns)
        self._names = tuple(parts)
        for name, tensor in parts.items():
            self.register_buffer(name, tensor)

    @property
    def parts(self) -> dict[str, torch.Tensor]:
        """The tensors of the format, by name."""
        return {name: getattr(self, name) for name in self._names}

    def forward(self) -> torch.Tensor:
        """Returns the matrix."""
        return unpack(self.parts, self.format.name, self.dtype)

    def rows(self, indices: torch.Tensor) -> torch.Tensor:
        """Returns some rows of the matrix: (*indices, columns). Unpacks these rows only."""
        flat = indices.reshape(-1)
        parts = {name: part.index_select(0, flat) for name, part in self.parts.items()}
        unpacked = unpack(parts, self.format.name, self.dtype)
        return unpacked.reshape(*indices.shape, unpacked.shape[-1])

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True):
        """Converts the dtype of the matrix, and moves the buffers without converting them."""
        self.dtype = fn(torch.empty(0, dtype=self.dtype)).dtype
        return super()._apply(lambda tensor: _as(fn(tensor), tensor), recurse)

    def extra_repr(self) -> str:
        """See `torch.nn.Module.extra_repr`."""
        return f"{self.format.name}, {self.dtype}"


def _as(converted: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """Returns `tensor` on the device of `converted`."""
    if converted.dtype == tensor.dtype:
        return converted
    return tensor.to(converted.device)


class PackedLinear(torch.nn.Module):
    """`torch.nn.Linear` with a packed weight."""

    def __init__(self, layer: torch.nn.Linear, weight: PackedWeight):
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight = weight
        self.bias = layer.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """See `torch.nn.Linear.forward`."""
        if self.weight.columns is not None:
            x = x.index_select(-1, self.weight.columns)
        return functional.linear(x, self.weight(), self.bias)


class PackedEmbedding(torch.nn.Module):
    """`torch.nn.Embedding` with a packed weight."""

    def __init__(self, layer: torch.nn.Embedding, weight: PackedWeight):
        super().__init__()
        self.num_embeddings, self.embedding_dim = layer.num_embeddings, layer.embedding_dim
        self.weight = weight

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        """See `torch.nn.Embedding.forward`."""
        return self.weight.rows(indices)


class PackedExperts(PackedWeight):
    """The matrices of experts in a packed format, for layers that index a weight by expert.

    Its tensors have the experts as first axis.
    """

    def __getitem__(self, experts: torch.Tensor) -> torch.Tensor:
        """Returns the matrices of some experts: (*experts, columns, rows). Unpacks these only."""
        flat = experts.reshape(-1)
        selected = {name: part.index_select(0, flat) for name, part in self.parts.items()}
        rows = selected["integers"].shape[1]
        unpacked = unpack(
            {name: part.flatten(0, 1) for name, part in selected.items()},
            self.format.name,
            self.dtype,
        )
        return unpacked.reshape(*experts.shape, rows, -1).transpose(-1, -2)

    def forward(self) -> torch.Tensor:
        """Returns the matrices of all experts: (experts, columns, rows)."""
        return self[torch.arange(len(self.get_buffer("integers")))]


@contextlib.contextmanager
def unpacked_once(model: torch.nn.Module, limit: int = 1 << 30) -> Iterator[None]:
    """Caches the matrices that calls of the model unpack, inside the `with` block.

    Args:
        limit: bytes. If all matrices together need more, none is kept.
    """
    weights = [each for each in model.modules() if type(each) is PackedWeight]
    sizes = (
        each.get_buffer("integers").shape[0] * each.format.columns(each.parts) * each.dtype.itemsize
        for each in weights
    )
    if sum(sizes) > limit:
        weights = []
    for weight in weights:
        weight.forward = functools.cache(weight.forward)
    try:
        yield
    finally:
        for weight in weights:
            del weight.forward


_PACKED = {torch.nn.Linear: PackedLinear, torch.nn.Embedding: PackedEmbedding}


def packed_note(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Returns a note on the weights that stay packed, if there are any.

    Args:
        counts: the number of weights by format.
    """
    if not counts:
        return ()
    texts = (f"{count / 1e6:,.1f} million in {name}" for name, count in counts.items())
    return (f"weights stay packed, and the program unpacks them: {', '.join(texts)}",)


def can_hold_packed(layer: torch.nn.Module) -> bool:
    """Returns whether a packed layer can replace this layer.

    Excludes subclasses, which may compute something else.
    """
    if type(layer) is torch.nn.Embedding:
        return layer.max_norm is None
    return type(layer) in _PACKED


def can_hold_packed_experts(layer: torch.nn.Module) -> bool:
    """Returns whether the matrix of each expert of a transformers layer is (columns, rows)."""
    return bool(getattr(layer, "is_transposed", False))


def put_packed_experts(
    model: torch.nn.Module, found: Mapping[str, Callable[[], PackedMatrix]]
) -> dict[str, int]:
    """Replaces the weights of experts by packed ones, in place.

    Args:
        found: by the name of a weight, a function that returns the packed matrices.

    Returns:
        The number of weights (elements) by format.
    """
    counts: dict[str, int] = {}
    for name, read in found.items():
        matrix, (path, _, parameter) = read(), name.rpartition(".")
        layer = model.get_submodule(path)
        delattr(layer, parameter)
        setattr(layer, parameter, PackedExperts(matrix.packing, matrix.parts))
        kind = matrix.packing.name
        counts[kind] = counts.get(kind, 0) + math.prod(matrix.shape)
    return counts


def put_packed(
    model: torch.nn.Module, found: Mapping[str, Callable[[], PackedMatrix]]
) -> dict[str, int]:
    """Replaces layers by layers with packed weights, in place. Tied weights stay tied.

    Args:
        found: by the name of a layer's weight, a function that returns the packed matrix.

    Returns:
        The number of weights (elements) by format.
    """
    counts: dict[str, int] = {}
    tied: dict[int, PackedWeight] = {}
    for name, read in found.items():
        weight, matrix = model.get_parameter(name), read()
        tied[id(weight)] = PackedWeight(matrix.packing, matrix.parts, matrix.columns)
        kind = matrix.packing.name
        counts[kind] = counts.get(kind, 0) + math.prod(weight.shape)
    for path, layer in list(model.named_modules(remove_duplicate=False)):
        packed = tied.get(id(getattr(layer, "weight", None)))
        if packed is not None:
            model.set_submodule(path, _PACKED[type(layer)](layer, packed))
    return counts
