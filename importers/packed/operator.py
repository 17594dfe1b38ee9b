"""The operator that unpacks weights: one node of a captured graph, until it is decomposed.

Tracing the operators of a format for each weight would take most of the time of a capture. As one
operator, equal weights share a decomposition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from importers.packed import PACKINGS

_library = torch.library.Library("unmess", "DEF")
_library.define(
    "unpack(Tensor[] parts, str[] names, str format, ScalarType dtype) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def unpack(parts: Mapping[str, torch.Tensor], format: str, dtype: torch.dtype) -> torch.Tensor:
    """Returns a matrix, (rows, columns), in `dtype`.

    Args:
        parts: the tensors of the matrix, as of `Format.parts`.
        format: the name of the format.
    """
    return torch.ops.unmess.unpack(list(parts.values()), list(parts), format, dtype)


def unpack_parts(
    parts: Sequence[torch.Tensor], names: Sequence[str], format: str, dtype: torch.dtype
) -> torch.Tensor:
    """Computes the operator with operators of PyTorch. Computes in f32, or in f64 if asked to."""
    number = torch.float64 if dtype == torch.float64 else torch.float32
    unpacked = PACKINGS[format].unpack(dict(zip(names, parts, strict=True)), number)
    return unpacked.flatten(1).to(dtype)


def _shape(
    parts: Sequence[torch.Tensor], names: Sequence[str], format: str, dtype: torch.dtype
) -> torch.Tensor:
    """Returns an empty tensor like the result."""
    columns = PACKINGS[format].columns(dict(zip(names, parts, strict=True)))
    return parts[0].new_empty(parts[0].shape[0], columns, dtype=dtype)


_library.impl("unpack", unpack_parts, "CompositeExplicitAutograd")
_library._register_fake("unpack", _shape)
