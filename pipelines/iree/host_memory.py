"""IREE files over memory of this process."""

from __future__ import annotations

import ctypes

import iree.runtime as rt
import torch


def file_over(tensor: torch.Tensor, *, writable: bool = False) -> rt.FileHandle:
    """Returns a file whose content is a tensor's memory.

    IREE keeps a reference to the object that provides the memory. It drops it on the thread that
    used it last, usually one of its workers, without holding the GIL. If that frees the object, the
    process sometimes crashes. So IREE gets an object that is never freed and owns nothing. It leaks
    some hundred bytes per file.

    Args:
        tensor: a contiguous tensor on the CPU. The caller keeps it while the file is in use.
    """
    memory = (ctypes.c_uint8 * tensor.nbytes).from_address(tensor.data_ptr())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
    return rt.FileHandle.wrap_memory(memory, readable=True, writable=writable)
