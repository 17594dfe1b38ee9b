"""Creates tensors from a short notation: `f32[n,4]`, `i64[3] <5`, `f16[] special`.

A size is a number, or a letter for a dynamic dimension. A word after the shape selects the values:

| word | values |
| --- | --- |
| (none) | normally distributed floats times two, integers from -9 to 9, booleans |
| `positive` | floats from 0.1 to 3, integers from 1 to 9 |
| `unit` | floats from -0.95 to 0.95 |
| `special` | NaN, infinities, zeros of both signs, the limits of the type; complex: all pairs |
| `subnormal` | numbers below the smallest normal one |
| `extreme` | the limits of an integer type, and numbers near them and near zero |
| `distinct` | no two are equal |
| `ties` | 0, 1 and 2 only |
| `halves` | multiples of 0.5 |
| `negative` | as `positive`, negated |
| `zero` | zeros |
| `sparse` | most are zero |
| `<N` | integers from 0 to N - 1 |
"""

from __future__ import annotations

import math
import re
import zlib
from dataclasses import dataclass

import torch

from importers.sources.example_inputs import DTYPES as INPUT_DTYPES

# The names that `--input` takes, but booleans have their name in PyTorch.
DTYPES = {"bool" if name == "i1" else name: dtype for name, dtype in INPUT_DTYPES.items()}
# The example sizes of dynamic dimensions.
_EXAMPLES = {"n": 3, "m": 5, "k": 4, "b": 2}
_TEXT = re.compile(r"(\w+)\[([\w,]*)\](?: (\w+|<\d+))?")


@dataclass(frozen=True)
class TensorSpec:
    """The description of a tensor.

    Attributes:
        text: the notation in the table.
        dtype: the element type.
        shape: the shape at the example sizes.
        dynamic: the name of each dynamic dimension by axis.
        values: the word that selects the values, or an empty string.
    """

    text: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    dynamic: dict[int, str]
    values: str

    def __str__(self) -> str:
        return self.text

    def tensor(self, number: int) -> torch.Tensor:
        """Returns the tensor. Random values depend on `number`."""
        seed = zlib.crc32(f"{self.text} {number}".encode())
        return _VALUES[self.values.rstrip("0123456789")](self, torch.Generator().manual_seed(seed))


def parse(text: str) -> TensorSpec | None:
    """Returns the description of a tensor, or None if the text is not one."""
    found = _TEXT.fullmatch(text)
    if not found or found[1] not in DTYPES:
        return None
    sizes = found[2].split(",") if found[2] else []
    return TensorSpec(
        text,
        DTYPES[found[1]],
        tuple(_EXAMPLES[size] if size in _EXAMPLES else int(size) for size in sizes),
        {axis: size for axis, size in enumerate(sizes) if size in _EXAMPLES},
        found[3] or "",
    )


def _plain(spec: TensorSpec, generator: torch.Generator) -> torch.Tensor:
    if spec.dtype == torch.bool:
        return torch.randint(0, 2, spec.shape, generator=generator).bool()
    if spec.dtype.is_floating_point or spec.dtype.is_complex:
        wide = torch.complex128 if spec.dtype.is_complex else torch.float64
        return (2 * torch.randn(spec.shape, dtype=wide, generator=generator)).to(spec.dtype)
    low = 0 if spec.dtype == torch.uint8 else -9
    return torch.randint(low, 10, spec.shape, generator=generator).to(spec.dtype)


def _positive(spec: TensorSpec, generator: torch.Generator) -> torch.Tensor:
    if spec.dtype.is_floating_point:
        uniform = torch.rand(spec.shape, dtype=torch.float64, generator=generator)
        return (0.1 + 2.9 * uniform).to(spec.dtype)
    return torch.randint(1, 10, spec.shape, generator=generator).to(spec.dtype)


def _unit(spec: TensorSpec, generator: torch.Generator) -> torch.Tensor:
    uniform = torch.rand(spec.shape, dtype=torch.float64, generator=generator)
    return (1.9 * uniform - 0.95).to(spec.dtype)


def _special(spec: TensorSpec, _generator: torch.Generator) -> torch.Tensor:
    limits = torch.finfo(spec.dtype)
    values = [
        *(math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5),
        *(limits.max, limits.min, limits.smallest_normal, 3.0),
    ]
    values = torch.tensor(values, dtype=torch.float64)
    if spec.dtype.is_complex:
        values = torch.view_as_complex(torch.cartesian_prod(values, values))
    return _repeated(values.to(spec.dtype), spec.shape)


def _subnormal(spec: TensorSpec, _generator: torch.Generator) -> torch.Tensor:
    smallest = torch.finfo(spec.dtype).smallest_normal
    values = torch.tensor([smallest / 2, -smallest / 4, smallest / 64], dtype=torch.float64)
    return _repeated(values.to(spec.dtype), spec.shape)


def _extreme(spec: TensorSpec, _generator: torch.Generator) -> torch.Tensor:
    limits = torch.iinfo(spec.dtype)
    near = [0, 1, 2, 7] + ([-1, -2, -7] if limits.min else [])
    values = [limits.max, limits.min, *near, limits.max - 1, limits.min + 1]
    return _repeated(torch.tensor(values, dtype=spec.dtype), spec.shape)


def _distinct(spec: TensorSpec, generator: torch.Generator) -> torch.Tensor:
    count = math.prod(spec.shape)
    order = torch.randperm(count, generator=generator).reshape(spec.shape)
    return (order - count // 2 if spec.dtype.is_signed else order).to(spec.dtype)


def _ties(spec: TensorSpec, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(0, 3, spec.shape, generator=generator).to(spec.dtype)


def _halves(spec: TensorSpec, generator: torch.Generator) -> torch.Tensor:
    return (torch.randint(-9, 10, spec.shape, generator=generator) / 2).to(spec.dtype)


def _sparse(spec: TensorSpec, generator: torch.Generator) -> torch.Tensor:
    values = torch.randint(-4, 3, spec.shape, generator=generator).clamp(min=0)
    return values.to(spec.dtype)


def _below(spec: TensorSpec, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(0, int(spec.values[1:]), spec.shape, generator=generator).to(spec.dtype)


def _repeated(values: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    return values[torch.arange(math.prod(shape)) % len(values)].reshape(shape)


_VALUES = {
    "": _plain,
    "positive": _positive,
    "negative": lambda spec, generator: -_positive(spec, generator),
    "unit": _unit,
    "special": _special,
    "subnormal": _subnormal,
    "extreme": _extreme,
    "distinct": _distinct,
    "ties": _ties,
    "halves": _halves,
    "zero": lambda spec, _generator: torch.zeros(spec.shape, dtype=spec.dtype),
    "sparse": _sparse,
    "<": _below,
}
