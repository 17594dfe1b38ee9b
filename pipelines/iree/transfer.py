"""Transfers tensors between PyTorch and IREE's devices, without a copy if they share memory."""

from __future__ import annotations

import contextlib

import iree.runtime as rt
import numpy as np
import torch

from pipelines.iree.exit import keep_alive, release_at_exit, wait_at_exit
from pipelines.iree.open_devices import device_error
from pipelines.iree.weight_files import ALIGNMENT, as_bytes
from unmess.core.errors.error import Error
from unmess.core.errors.iree_runtime import PROBLEMS

_ELEMENT_TYPES = {
    torch.bool: rt.HalElementType.BOOL_8,
    torch.uint8: rt.HalElementType.UINT_8,
    torch.uint16: rt.HalElementType.UINT_16,
    torch.uint32: rt.HalElementType.UINT_32,
    torch.uint64: rt.HalElementType.UINT_64,
    torch.int8: rt.HalElementType.SINT_8,
    torch.int16: rt.HalElementType.SINT_16,
    torch.int32: rt.HalElementType.SINT_32,
    torch.int64: rt.HalElementType.SINT_64,
    torch.float16: rt.HalElementType.FLOAT_16,
    torch.bfloat16: rt.HalElementType.BFLOAT_16,
    torch.float32: rt.HalElementType.FLOAT_32,
    torch.float64: rt.HalElementType.FLOAT_64,
    torch.complex64: rt.HalElementType.COMPLEX_64,
    torch.complex128: rt.HalElementType.COMPLEX_128,
}
# Element types that IREE's DLPack does not support.
_FLOAT8 = {
    torch.float8_e4m3fn: rt.HalElementType.FLOAT_8_E4M3_FN,
    torch.float8_e4m3fnuz: rt.HalElementType.FLOAT_8_E4M3_FNUZ,
    torch.float8_e5m2: rt.HalElementType.FLOAT_8_E5M2,
    torch.float8_e5m2fnuz: rt.HalElementType.FLOAT_8_E5M2_FNUZ,
    torch.float8_e8m0fnu: rt.HalElementType.FLOAT_8_E8M0_FNU,
}
# Integers of the IR are signless.
_SIGNLESS = {
    rt.HalElementType.INT_8: torch.int8,
    rt.HalElementType.INT_16: torch.int16,
    rt.HalElementType.INT_32: torch.int32,
    rt.HalElementType.INT_64: torch.int64,
}
_DTYPES = {
    int(element_type): dtype
    for element_type, dtype in (
        *((value, key) for key, value in (_ELEMENT_TYPES | _FLOAT8).items()),
        *_SIGNLESS.items(),
    )
}
_BYTE = np.dtype(np.uint8)
_CPU_IN_DLPACK = 1
_DEVICE = int(rt.MemoryType.DEVICE_LOCAL)
_HOST = int(rt.MemoryType.HOST_LOCAL | rt.MemoryType.DEVICE_VISIBLE)
_USED = int(rt.BufferUsage.DEFAULT)
_MAPPED = int(rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING)
_READ_BACK = int(rt.BufferUsage.TRANSFER_TARGET | rt.BufferUsage.MAPPING)


class Transfer:
    """Transfers tensors to and from one device.

    Attributes:
        shares_memory: whether the device computes in the CPU's own memory. If so, transfers do not
            copy: the program reads a tensor's memory, and a result is the memory that it wrote.
    """

    def __init__(self, device: rt.HalDevice, driver: str):
        self._device = device
        self._driver = driver
        self._allocator = device.allocator
        self.shares_memory = driver.startswith("local-")
        if self.shares_memory:
            keep_alive(device)
        release_at_exit(self)

    def to_device(self, tensor: torch.Tensor) -> rt.HalBufferView:
        """Returns a tensor on the device. With shared memory, it is the tensor's own if possible.

        Args:
            tensor: a contiguous tensor on the CPU.
        """
        if (
            self.shares_memory
            and tensor.numel()
            and tensor.data_ptr() % ALIGNMENT == 0
            and tensor.dtype not in _FLOAT8
        ):
            # The view refers to an object of its own, which keeps the tensor's memory alive.
            lent = tensor.detach()
            wait_at_exit(lent)
            return self._device.from_dlpack_capsule(torch.utils.dlpack.to_dlpack(lent))
        try:
            buffer = self._allocator.allocate_buffer_copy(
                memory_type=_DEVICE,
                allowed_usage=_MAPPED if self.shares_memory else _USED,
                device=self._device,
                buffer=as_bytes(tensor),
            )
        except PROBLEMS as problem:
            raise self.error(problem, f"copying {tensor.nbytes} bytes to the device") from problem
        return rt.HalBufferView(
            buffer, tuple(tensor.shape), (_ELEMENT_TYPES | _FLOAT8)[tensor.dtype]
        )

    def to_torch(self, view: rt.HalBufferView, dtype: torch.dtype) -> torch.Tensor:
        """Returns a tensor on the CPU. With shared memory, it refers to the view's memory."""
        shape = tuple(view.shape)
        if 0 in shape:
            return torch.empty(shape, dtype=dtype)
        if self.shares_memory and dtype not in _FLOAT8:
            capsule = self._device.create_dlpack_capsule(view, _CPU_IN_DLPACK, 0)
            tensor = torch.utils.dlpack.from_dlpack(capsule)
            # Integers of the IR are signless.
            return tensor if tensor.dtype == dtype else tensor.view(dtype)
        result = torch.empty(shape, dtype=dtype)
        try:
            self._read(view.get_buffer(), as_bytes(result))
        except PROBLEMS as problem:
            raise self.error(problem, f"copying {result.nbytes} bytes from the device") from problem
        return result

    def copy_to_torch(self, view: rt.HalBufferView) -> torch.Tensor | None:
        """Returns a copy on the CPU; None if PyTorch has no dtype for the elements."""
        dtype = _DTYPES.get(int(view.element_type))
        return None if dtype is None else self.to_torch(view, dtype).clone()

    def error(self, problem: Exception, doing: str) -> Error:
        """Returns the Error for an exception of IREE that occurred while `doing` something."""
        return device_error(problem, self._driver, doing)

    def _read(self, source: rt.HalBuffer, target: np.ndarray) -> None:
        """Copies a buffer from the device, after all work on it, and waits until it is copied."""
        size = source.byte_length()
        compatibility = self._allocator.query_buffer_compatibility(
            memory_type=_HOST,
            allowed_usage=_READ_BACK,
            intended_usage=_READ_BACK,
            allocation_size=size,
        )
        host = None
        if size == target.size and compatibility & int(rt.BufferCompatibility.IMPORTABLE):
            # Some drivers need page-aligned memory.
            with contextlib.suppress(ValueError):
                host = self._allocator.import_host_allocation(target, _HOST, _READ_BACK)
                wait_at_exit(target)
        is_target = host is not None
        if host is None:
            host = self._allocator.allocate_buffer(
                memory_type=_HOST, allowed_usage=_READ_BACK, allocation_size=size
            )
        semaphore = self._device.create_semaphore(0)
        self._device.queue_copy(
            source,
            host,
            wait_semaphores=rt.HalFence.create_at(semaphore, 0),
            signal_semaphores=rt.HalFence.create_at(semaphore, 1),
        )
        rt.HalFence.create_at(semaphore, 1).wait()
        if not is_target:
            target[:] = host.map().asarray((target.size,), _BYTE)
