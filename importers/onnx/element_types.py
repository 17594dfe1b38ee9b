"""Converts ONNX element types to those of PyTorch and NumPy.

PyTorch does not compute with 2-bit and 4-bit integers or 4-bit floats. Wider types hold them, one
number per element, restricted to the values of the narrow type.
"""

from __future__ import annotations

import numpy as np
import onnx
import torch

from unmess.core.errors.error import Error

_T = onnx.TensorProto
_DTYPES = {
    _T.FLOAT: torch.float32,
    _T.DOUBLE: torch.float64,
    _T.FLOAT16: torch.float16,
    _T.BFLOAT16: torch.bfloat16,
    _T.FLOAT8E4M3FN: torch.float8_e4m3fn,
    _T.FLOAT8E4M3FNUZ: torch.float8_e4m3fnuz,
    _T.FLOAT8E5M2: torch.float8_e5m2,
    _T.FLOAT8E5M2FNUZ: torch.float8_e5m2fnuz,
    _T.FLOAT8E8M0: torch.float8_e8m0fnu,
    _T.BOOL: torch.bool,
    _T.INT8: torch.int8,
    _T.INT16: torch.int16,
    _T.INT32: torch.int32,
    _T.INT64: torch.int64,
    _T.UINT8: torch.uint8,
    _T.UINT16: torch.uint16,
    _T.UINT32: torch.uint32,
    _T.UINT64: torch.uint64,
    _T.COMPLEX64: torch.complex64,
    _T.COMPLEX128: torch.complex128,
    _T.INT4: torch.int8,
    _T.INT2: torch.int8,
    _T.UINT4: torch.uint8,
    _T.UINT2: torch.uint8,
    _T.FLOAT4E2M1: torch.float32,
}
# The ranges of integers that are held in wider types.
NARROW = {_T.INT4: (-8, 7), _T.UINT4: (0, 15), _T.INT2: (-2, 1), _T.UINT2: (0, 3)}
FLOAT4 = _T.FLOAT4E2M1
HELD_IN_WIDER = frozenset({*NARROW, FLOAT4})
_CODES = {dtype: code for code, dtype in _DTYPES.items() if code not in HELD_IN_WIDER}
# PyTorch does not read NumPy types of ml_dtypes: view them as integers of the same width.
_BY_BITS = {
    torch.bfloat16: np.int16,
    torch.float8_e4m3fn: np.uint8,
    torch.float8_e4m3fnuz: np.uint8,
    torch.float8_e5m2: np.uint8,
    torch.float8_e5m2fnuz: np.uint8,
    torch.float8_e8m0fnu: np.uint8,
}


def dtype_of(code: int, name: str) -> torch.dtype:
    """Returns the dtype that holds an ONNX element type.

    Args:
        code: a `TensorProto.DataType`.
        name: the name of the tensor, for the message.

    Raises:
        Error: stage `source`, for strings and undefined types.
    """
    if code not in _DTYPES:
        raise Error(
            "source",
            f"{name} has elements of type {onnx.TensorProto.DataType.Name(code)}, which PyTorch "
            "does not have",
            hint="use a numeric type",
        )
    return _DTYPES[code]


def code_of(dtype: torch.dtype) -> int:
    """Returns the ONNX type of a dtype."""
    return _CODES[dtype]


def to_numpy(tensor: torch.Tensor, code: int) -> np.ndarray:
    """Converts a tensor to an array of the ONNX type `code`."""
    tensor = tensor.detach().contiguous()
    kind = onnx.helper.tensor_dtype_to_np_dtype(code)
    if code in HELD_IN_WIDER:
        return tensor.numpy().astype(kind)
    bits = _BY_BITS.get(tensor.dtype)
    if bits is not None:
        return tensor.view(getattr(torch, np.dtype(bits).name)).numpy().view(kind)
    return tensor.numpy()


def to_torch(array: np.ndarray) -> torch.Tensor:
    """Converts an array to a tensor, which shares the memory if it is writable."""
    code = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    dtype = dtype_of(code, "an array")
    if code in HELD_IN_WIDER and array.size:
        return torch.from_numpy(np.array(array).astype(np.float32)).to(dtype)
    if not array.size:
        return torch.empty(array.shape, dtype=dtype)
    array = np.ascontiguousarray(array).reshape(array.shape)
    array = array if array.flags.writeable else array.copy()
    bits = _BY_BITS.get(dtype)
    if bits is not None:
        return torch.from_numpy(array.view(bits)).view(dtype)
    return torch.from_numpy(array)
