"""Reads `tiny_sizes.yaml`: sizes and inputs that the tiny forms of single model types need."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import yaml

from importers.sources.huggingface import text

FILE = Path(__file__).with_name("tiny_sizes.yaml")


@dataclasses.dataclass(frozen=True)
class TinySizes:
    """The sizes of one model type that the sizes by shared attribute names do not cover.

    Attributes:
        sizes: values by attribute. A dot leads to a nested configuration: `vision_config.depth`.
        inputs: the arguments of the example call. Empty if the generic example fits.
    """

    sizes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    inputs: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def apply(self, values: dict[str, Any]) -> None:
        """Sets the sizes in the keyword arguments of a configuration."""
        for path, size in self.sizes.items():
            *outer, name = path.split(".")
            part = values
            for key in outer:
                part = part.setdefault(key, {})
            part[name] = size

    def example(self) -> dict[str, Any]:
        """Creates the arguments of the example call, in the order of the file."""
        return {name: _argument(spec) for name, spec in self.inputs.items()}


@functools.cache
def read_tiny_sizes(path: Path = FILE) -> dict[str, TinySizes]:
    """Returns the sizes by model type."""
    entries = yaml.load(path.read_text(), yaml.CSafeLoader)
    return {model_type: TinySizes(**entry) for model_type, entry in entries.items()}


def _argument(spec: Any) -> Any:
    """Creates an argument, with a random or constant tensor for each of the following mappings.

    `floats: SHAPE` is float32 from a normal distribution. `ids: SHAPE` is int64 token ids; `below`
    is the size of their vocabulary, and `tokens` maps a token to the range [start, end) of the last
    axis that it fills. `ones: SHAPE`, `zeros: SHAPE` and `values: LIST` are constants; their
    `dtype` is int64 unless given. Other mappings and lists contain such arguments, or are values.
    """
    if isinstance(spec, list):
        return tuple(map(_argument, spec))
    if not isinstance(spec, Mapping):
        return spec
    if "floats" in spec:
        return torch.randn(spec["floats"])
    if "ids" in spec:
        ids = text.token_ids(spec.get("below", text.SMALL_VOCABULARY), *spec["ids"])
        for token, (start, end) in spec.get("tokens", {}).items():
            ids[..., start:end] = token
        return ids
    dtype = getattr(torch, spec.get("dtype", "int64"))
    if "values" in spec:
        return torch.tensor(spec["values"], dtype=dtype)
    if "ones" in spec:
        return torch.ones(spec["ones"], dtype=dtype)
    if "zeros" in spec:
        return torch.zeros(spec["zeros"], dtype=dtype)
    return {name: _argument(value) for name, value in spec.items()}
