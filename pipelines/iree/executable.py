"""A program compiled by IREE and run by its runtime, in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import iree.runtime as rt
import numpy as np
import torch

from pipelines.executable import Executable
from pipelines.iree.parameters import provider
from pipelines.iree.targets import TARGETS
from pipelines.iree.vm_module import vm_module
from unmess.core.error import Error, first_line
from unmess.core.module import Module
from unmess.core.progress import enter_stage
from unmess.core.signature import TensorSpec

_ELEMENT_TYPES = {
    torch.bool: rt.HalElementType.BOOL_8,
    torch.uint8: rt.HalElementType.UINT_8,
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


class IreeExecutable(Executable):
    """A program on one of IREE's devices."""

    def __init__(self, module: Module, runner: str):
        """Compiles and loads `module`, at any stage up to `linalg`; it is left as it is.

        Raises:
            Error: the stage that failed, up to `load`.
        """
        super().__init__(module)
        self.runner = runner
        target = TARGETS[runner]
        with self._compiling():
            compiled = vm_module(module, runner, self.seconds)
        self._change_one_by_one(compiled.has_globals)
        enter_stage("load")
        start = time.perf_counter()
        try:
            self._load(compiled.code, target.device)
        except (RuntimeError, ValueError) as problem:
            raise Error(
                "load",
                f"IREE does not load the module on {target.device}: {first_line(problem)}",
                hint="`unmess doctor` shows the devices that are there",
            ) from problem
        self._lock = threading.Lock()
        self.seconds["load"] = time.perf_counter() - start

    def _load(self, binary: bytes, device: str) -> None:
        instance = rt.VmInstance()
        self._device = rt.get_device(device)
        modules = [rt.create_hal_module(instance, self._device)]
        if self._weights:
            parameters = provider(self._weights.items())
            modules.append(rt.create_io_parameters_module(instance, parameters))
        program = rt.VmModule.copy_buffer(instance, binary)
        self._context = rt.VmContext(instance, [*modules, program])
        self._functions = {entry: program.lookup_function(entry) for entry in self.signatures}

    def _invoke(
        self, entry: str, arguments: Sequence[torch.Tensor | int | float | bool]
    ) -> list[Any]:
        inputs = rt.VmVariantList(len(arguments))
        for value in arguments:
            if isinstance(value, torch.Tensor):
                inputs.push_ref(self._to_device(value))
            elif isinstance(value, float):
                inputs.push_float(value)
            else:
                inputs.push_int(int(value))
        results = self.signatures[entry].results
        outputs = rt.VmVariantList(len(results))
        try:
            # A VM context is not thread-safe.
            with self._lock:
                self._context.invoke(self._functions[entry], inputs, outputs)
        except RuntimeError as problem:
            raise Error(
                "run",
                f"IREE stopped: {first_line(problem)}",
                hint="an index or a size may be out of range: compare with the model in eager",
            ) from problem
        return [
            _to_host(outputs.get_as_object(index, rt.HalBufferView), result.spec)
            if isinstance(result.spec, TensorSpec)
            else result.spec.type(outputs.get_variant(index))
            for index, result in enumerate(results)
        ]

    def _to_device(self, tensor: torch.Tensor) -> rt.HalBufferView:
        buffer = self._device.allocator.allocate_buffer_copy(
            memory_type=rt.MemoryType.DEVICE_LOCAL,
            allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
            device=self._device,
            buffer=tensor.reshape(-1).view(torch.uint8).numpy(),
        )
        return rt.HalBufferView(buffer, tuple(tensor.shape), _ELEMENT_TYPES[tensor.dtype])


def _to_host(view: rt.HalBufferView, spec: TensorSpec) -> torch.Tensor:
    result = torch.empty(tuple(view.shape), dtype=spec.dtype)
    if result.numel():
        count = result.numel() * spec.dtype.itemsize
        mapped = view.map().asarray((count,), np.dtype(np.uint8))
        result.reshape(-1).view(torch.uint8).numpy()[:] = mapped
    return result
