"""Maps names of PyTorch dtypes to the element types of NumPy and IREE."""

from __future__ import annotations

import functools

import iree.runtime as rt
import numpy as np

_TYPES = {
    "bool": (np.bool_, rt.HalElementType.BOOL_8),
    "uint8": (np.uint8, rt.HalElementType.UINT_8),
    "int8": (np.int8, rt.HalElementType.SINT_8),
    "int16": (np.int16, rt.HalElementType.SINT_16),
    "int32": (np.int32, rt.HalElementType.SINT_32),
    "int64": (np.int64, rt.HalElementType.SINT_64),
    "float16": (np.float16, rt.HalElementType.FLOAT_16),
    "float32": (np.float32, rt.HalElementType.FLOAT_32),
    "float64": (np.float64, rt.HalElementType.FLOAT_64),
    "complex64": (np.complex64, rt.HalElementType.COMPLEX_64),
    "complex128": (np.complex128, rt.HalElementType.COMPLEX_128),
    # NumPy has no bfloat16; `ml_dtypes`, which IREE's runtime depends on, has one.
    "bfloat16": (None, rt.HalElementType.BFLOAT_16),
}
SUPPORTED = frozenset(_TYPES)


@functools.cache
def numpy_type(name: str) -> np.dtype:
    """Returns NumPy's type for the PyTorch dtype `name`; for bfloat16, that of `ml_dtypes`."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(_TYPES[name][0])


def iree_type(dtype: np.dtype) -> rt.HalElementType:
    """Returns IREE's element type for a NumPy dtype."""
    return _TYPES[dtype.name][1]
