"""Makes tensors from a seed, with NumPy alone: the same bits on every machine and version.

NumPy guarantees the stream of the bit generator PCG64, but not that of its distributions. So the
numbers are computed here from the raw 64-bit integers of `PCG64(seed).random_raw`, in C order:

- `normal`: the sum of the four 16-bit parts of an integer, shifted and scaled to mean 0 and
  variance 1, is almost normally distributed. `mean + std * sum` in float64 is clipped to `min` and
  `max`, and rounded to the dtype.
- `integers`: `low + raw % (high - low + 1)`.

`fill` has one `value`; `arange` counts from `start` by `step` in C order; `data` are the elements
themselves, little endian and compressed with zlib.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# Mean and standard deviation of the sum of four uniform 16-bit integers.
_MEAN = 4 * 65535 / 2
_DEVIATION = math.sqrt(4 * (65536**2 - 1) / 12)
# NumPy has no bfloat16. Its elements are the bits, as uint16.
BFLOAT16 = "bfloat16"


def seed_of(seed: int, model: str, name: str) -> int:
    """Returns the seed of one tensor: 63 bits of the SHA-256 of the arguments."""
    digest = hashlib.sha256(f"{seed}\n{model}\n{name}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def make(
    made: Mapping[str, Any], shape: Sequence[int], dtype: str, seed: int, data: bytes | None = None
) -> np.ndarray:
    """Returns a tensor.

    Args:
        made: its `kind`, and the numbers of this kind: see above.
        dtype: NumPy's name of the dtype; `bfloat16` returns the bits as uint16.
        seed: seed of the bit generator, for the kinds `normal` and `integers`.
        data: the compressed elements, for the kind `data`.
    """
    count = math.prod(shape)
    stored = storage(dtype)
    match made["kind"]:
        case "data":
            elements = np.frombuffer(zlib.decompress(data), stored.newbyteorder("<"))
            return elements.astype(stored).reshape(shape)
        case "fill":
            elements = np.full(count, made["value"])
        case "arange":
            elements = made["start"] + made["step"] * np.arange(count)
        case "integers":
            span = np.uint64(made["high"] - made["low"] + 1)
            elements = made["low"] + (_raw(seed, count) % span).astype(np.int64)
        case "normal":
            elements = np.clip(
                made["mean"] + made["std"] * standard_normal(seed, count), made["min"], made["max"]
            )
        case kind:
            raise ValueError(f"unknown kind of tensor {kind!r}")
    return rounded(elements, dtype).reshape(shape)


def standard_normal(seed: int, count: int) -> np.ndarray:
    """Returns float64 numbers between -3.5 and 3.5, with mean 0 and variance 1."""
    parts = _raw(seed, count).astype("<u8").view("<u2").reshape(count, 4)
    return (parts.sum(axis=1, dtype=np.int64) - _MEAN) / _DEVIATION


def _raw(seed: int, count: int) -> np.ndarray:
    # A count of 0 would return a number, and no array.
    return np.random.PCG64(seed).random_raw(max(count, 1))[:count]


def storage(dtype: str) -> np.dtype:
    """Returns NumPy's dtype for the elements."""
    return np.dtype(np.uint16 if dtype == BFLOAT16 else dtype)


def rounded(elements: np.ndarray, dtype: str) -> np.ndarray:
    """Converts numbers to a dtype; to bfloat16 by rounding to the nearest, ties to even."""
    if dtype != BFLOAT16:
        return elements.astype(dtype)
    bits = elements.astype(np.float32).view(np.uint32)
    nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return np.where(nan, 0x7FC0, nearest).astype(np.uint16)


def widened(bits: np.ndarray) -> np.ndarray:
    """Returns the float32 values of bfloat16 bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def compressed(elements: np.ndarray) -> bytes:
    """Returns the elements as `make` takes them."""
    return zlib.compress(elements.astype(elements.dtype.newbyteorder("<")).tobytes(), 9)


def checksum(elements: np.ndarray) -> str:
    """Returns the SHA-256 of the elements, little endian, in C order."""
    ordered = elements.astype(elements.dtype.newbyteorder("<"))
    return hashlib.sha256(ordered.tobytes()).hexdigest()


def statistics(elements: np.ndarray, dtype: str) -> dict[str, Any]:
    """Returns checksum, min, max, mean, std and the number of NaN. The others ignore NaN."""
    values = widened(elements) if dtype == BFLOAT16 else elements
    if values.dtype.kind == "c":
        values = np.stack([values.real, values.imag])
    wide = values.astype(np.float64).ravel()
    nan = np.isnan(wide)
    wide = wide[~nan]
    found: dict[str, Any] = {"sha256": checksum(elements), "nan": int(nan.sum())}
    with np.errstate(all="ignore"):
        for name in ("min", "max", "mean", "std"):
            found[name] = float(getattr(wide, name)()) if wide.size else None
    return found
