"""Memory of this process, as IREE's files."""

from __future__ import annotations

import ctypes

import iree.runtime as rt
import torch


def file_over(tensor: torch.Tensor, *, writable: bool = False) -> rt.FileHandle:
    """A file whose content is a tensor's memory.

    IREE keeps the object that memory comes from, and lets go of it on the thread that used it last,
    a worker of its own as a rule, without the interpreter's lock. An object that dies there ends
    the process, now and then. So IREE gets one that never dies and owns nothing: some hundred bytes
    for each file that is made.

    Args:
        tensor: on the CPU, contiguous. The caller keeps it for as long as the file is read.
    """
    memory = (ctypes.c_uint8 * tensor.nbytes).from_address(tensor.data_ptr())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
    return rt.FileHandle.wrap_memory(memory, readable=True, writable=writable)
