"""Gives memory that the runtime has allocated to PyTorch, by DLPack."""

from __future__ import annotations

import ctypes
import struct

import torch
from torch.utils.dlpack import from_dlpack

_WORD = 8
# DLPack's DLManagedTensor: the address of the first element, the type and the number of the device,
# the rank, the dtype (4 bytes), the addresses of the sizes and of the strides, an offset in bytes,
# a pointer for the owner, and the function that frees the tensor, which takes this structure.
_MANAGED = struct.Struct("@Pii i4s PP QPP")
_CPU = 1
# DLPack's codes of dtypes that have one of their own.
_CODES = {
    torch.bfloat16: 4,
    torch.bool: 6,
    torch.float8_e4m3fn: 10,
    torch.float8_e4m3fnuz: 11,
    torch.float8_e5m2: 12,
    torch.float8_e5m2fnuz: 13,
    torch.float8_e8m0fnu: 14,
}
# A capsule refers to its name.
_CAPSULE_NAME = b"dltensor"
_new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))
_FREE = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p).value


def owned_tensor(allocated: int, data: int, code: bytes, rank: int, sizes: int) -> torch.Tensor:
    """Returns a tensor in memory that the runtime has allocated, which is freed with the tensor.

    DLPack's structure, which PyTorch passes to the C library's `free`, is at the beginning of the
    memory: the runtime leaves space for it.

    Args:
        allocated: the address that the runtime returned. It has stored that of `malloc` before it.
        data: the address of the first element.
        code: DLPack's form of the dtype.
        sizes: the address of the sizes and, after them, the strides.
    """
    memory = ctypes.c_void_p.from_address(allocated - 2 * _WORD).value
    strides = sizes + rank * _WORD
    managed = _MANAGED.pack(data, _CPU, 0, rank, code, sizes, strides, 0, 0, _FREE)
    ctypes.memmove(memory, managed, len(managed))
    return from_dlpack(_new_capsule(memory, _CAPSULE_NAME, None))


def dtype_code(dtype: torch.dtype) -> bytes:
    """Returns the dtype in DLPack's form: a code, the bits of an element, and one lane.

    PyTorch's own conversion needs a tensor, and there may be a mode that makes new tensors fake.
    """
    code = _CODES.get(dtype)
    if code is None:
        kinds = (dtype.is_complex, dtype.is_floating_point, not dtype.is_signed)
        code = next((code for code, holds in zip((5, 2, 1), kinds, strict=True) if holds), 0)
    return struct.pack("@BBH", code, 8 * dtype.itemsize, 1)
