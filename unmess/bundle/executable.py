"""Runs a bundle in this process with IREE's runtime, on NumPy arrays."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from unmess.bundle.manifest import (
    MODULE,
    SIGNATURE,
    STATE,
    WEIGHTS,
    Manifest,
    read_manifest,
)
from unmess.core.errors.check import failed_check
from unmess.core.errors.error import Error
from unmess.core.errors.failure import only_errors
from unmess.core.errors.iree_runtime import PROBLEMS, remedy, short_problem
from unmess.core.processes.undisturbed_calls import UndisturbedCalls

try:
    import iree.runtime as rt
    import numpy as np
except ImportError as missing:
    raise Error(
        "load",
        f"the package {missing.name} is not installed, but bundles need it",
        hint="run `pip install iree-base-runtime numpy`",
    ) from missing

from unmess.bundle.elements import iree_type
from unmess.bundle.signature import NumpySignature, read_signature
from unmess.core.signature.entry_points import EntryPoint, EntryPoints
from unmess.core.signature.signature import Argument, ScalarSpec, TensorSpec


@only_errors("load")
def load(folder: str | Path, *, verify_checksums: bool = True, whole: bool | None = None) -> Bundle:
    """Loads a bundle that `unmess package` has written. Weights are mapped, not read.

    Args:
        verify_checksums: whether to compare the checksums of all files. If False, only the sizes
            of files above 16 MiB are compared, which saves half a second for each GB of weights.
        whole: deprecated name of `verify_checksums`.

    Raises:
        Error: stage `load`; a file is missing or altered, the format is another one, this CPU
            lacks features that the code needs, there is no such device, or it is not a bundle.
    """
    if whole is not None:
        # Level 3 is the caller of the decorated function.
        warnings.warn(
            "the parameter whole is deprecated: use verify_checksums",
            DeprecationWarning,
            stacklevel=3,
        )
        verify_checksums = whole
    folder = Path(folder)
    manifest = read_manifest(folder)
    manifest.check_processor()
    manifest.check_files(folder, verify_checksums=verify_checksums)
    return Bundle(folder, manifest)


class Bundle(EntryPoints[EntryPoint]):
    """A packaged model, which is called like the model itself, with NumPy arrays for tensors.

    See `EntryPoints` for the calls. State that the model keeps between calls (running statistics, a
    cache) stays on the device. Any number of threads may call; the calls run one after the other.

    Attributes:
        manifest: the content of `bundle.json`.
    """

    signatures: dict[str, NumpySignature]

    def __init__(self, folder: Path, manifest: Manifest):
        self.manifest = manifest
        self.signatures = read_signature(folder / SIGNATURE)
        self._folder = folder
        self._lock = threading.RLock()
        try:
            self._device = rt.get_device(manifest.device)
        except PROBLEMS as problem:
            raise Error(
                "load",
                f"the bundle is for {manifest.target}, but there is no such device here: "
                f"{short_problem(str(problem))}",
                hint=remedy(manifest.device) or "package the model for a device of this computer",
            ) from problem
        try:
            self._load()
        except PROBLEMS as problem:
            raise Error(
                "load",
                f"IREE cannot load the bundle on {manifest.device}: {short_problem(str(problem))}",
                hint="install the runtime that matches IREE's compiler "
                f"{manifest.versions.get('iree-base-compiler')}, which compiled the bundle for "
                f"{manifest.target}",
            ) from problem
        self.reset()

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.manifest.name

    @property
    def entries(self) -> dict[str, NumpySignature]:
        """Deprecated name of `signatures`."""
        warnings.warn(
            "Bundle.entries is deprecated: use signatures", DeprecationWarning, stacklevel=2
        )
        return self.signatures

    def _entry_point(self, entry: str) -> EntryPoint:
        return EntryPoint(self, entry)

    @property
    def state(self) -> dict[str, np.ndarray]:
        """Copies of the state that the model keeps between calls, by name."""
        with self._lock:
            return {name: self._to_host(view, dtype) for name, (view, dtype) in self._state.items()}

    @only_errors("run")
    def reset(self) -> None:
        """Resets the state to its values when the model was packaged."""
        with self._lock:
            self._state = {}
            for entry in self.signatures.values():
                for slot in entry.arguments:
                    if slot.kind == "state" and slot.name not in self._state:
                        content = np.frombuffer(self._initial[slot.name].file_view, np.uint8)
                        view = self._to_device(content, slot.spec.shape, slot.spec.dtype)
                        self._state[slot.name] = view, slot.spec.dtype

    def set_state(self, name: str, value: np.ndarray) -> None:
        """Replaces a tensor of the state, such as `cache_padding` of a decoder.

        Args:
            value: of the same shape and dtype as the present one.

        Raises:
            Error: stage `usage`, if there is no such state, or its shape or dtype differs.
        """
        with self._lock:
            if name not in self._state:
                names = ", ".join(self._state) or "there is none"
                raise Error("usage", f"unknown state {name!r}", hint=f"the state: {names}")
            view, dtype = self._state[name]
            value = np.asarray(value)
            if tuple(view.shape) != value.shape or value.dtype != dtype:
                raise Error(
                    "usage",
                    f"state {name} is {dtype} of {tuple(view.shape)}, not {value.dtype} of "
                    f"{value.shape}",
                    hint="pass an array of the same shape and dtype",
                )
            content = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            self._state[name] = self._to_device(content, value.shape, dtype), dtype

    def _load(self) -> None:
        instance = rt.VmInstance()
        modules = [rt.create_hal_module(instance, self._device)]
        if WEIGHTS in self.manifest.files:
            index = rt.ParameterIndex()
            index.load(str(self._folder / WEIGHTS))
            provider = index.create_provider(scope=self.manifest.scope)
            modules.append(rt.create_io_parameters_module(instance, provider))
        program = rt.VmModule.mmap(instance, str(self._folder / MODULE))
        self._context = rt.VmContext(instance, [*modules, program])
        self._functions = {entry: program.lookup_function(entry) for entry in self.signatures}
        self._undisturbed = {entry: UndisturbedCalls() for entry in self.signatures}
        self._initial = {}
        if STATE in self.manifest.files:
            state = rt.ParameterIndex()
            state.load(str(self._folder / STATE))
            self._initial = dict(state.items())
        for entry in self.signatures.values():
            for slot in entry.arguments:
                if slot.kind == "state":
                    self._check_state(slot)

    def _check_state(self, slot: Argument) -> None:
        """Raises an Error (`load`) if a state's initial value is missing or has another size."""
        expected = math.prod(slot.spec.shape) * slot.spec.dtype.itemsize
        found = self._initial[slot.name].length if slot.name in self._initial else 0
        if slot.name not in self._initial or found != expected:
            raise Error(
                "load",
                f"{self._folder / STATE} has {found:,} bytes for {slot.name} ({slot.spec}), "
                f"expected {expected:,}",
                hint="write the bundle again with `unmess package`",
            )

    def _call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        entry = self.signatures[name]
        values = entry.flatten_call(args, kwargs)
        with self._lock:
            inputs = rt.VmVariantList(len(entry.arguments))
            for slot in entry.arguments:
                if slot.kind == "state":
                    inputs.push_ref(self._state[slot.name][0])
                else:
                    self._push(inputs, slot, values[slot.name])
            outputs = rt.VmVariantList(len(entry.results))
            try:
                with self._undisturbed[name]:
                    self._context.invoke(self._functions[name], inputs, outputs)
            except PROBLEMS as problem:
                if check := failed_check(str(problem)):
                    raise check.error() from problem
                raise Error(
                    "run",
                    f"IREE stopped the program: {short_problem(str(problem))}",
                    hint="an index or a size may be out of range: run this call in eager PyTorch",
                ) from problem
            return entry.unflatten_results(self._results(entry, outputs))

    def _push(self, inputs: rt.VmVariantList, slot: Argument, value: Any) -> None:
        if isinstance(slot.spec, TensorSpec):
            content = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            # NumPy treats every nonzero byte as true; compiled code reads only the lowest bit.
            if slot.spec.dtype == "bool" and content.size and content.max() > 1:
                content = (content != 0).view(np.uint8)
            inputs.push_ref(self._to_device(content, value.shape, slot.spec.dtype))
        elif slot.spec.type is float:
            inputs.push_float(value)
        else:
            inputs.push_int(int(value))

    def _results(self, entry: NumpySignature, outputs: rt.VmVariantList) -> list[Any]:
        """Reads results, and state that the call returns; other state stays on the device."""
        results: list[Any] = []
        for index, slot in enumerate(entry.results):
            if isinstance(slot.spec, ScalarSpec):
                results.append(slot.spec.type(outputs.get_variant(index)))
                continue
            view = outputs.get_as_object(index, rt.HalBufferView)
            if slot.kind == "state":
                self._state[slot.name] = view, slot.spec.dtype
            is_returned = index in entry.outputs
            results.append(self._to_host(view, slot.spec.dtype) if is_returned else None)
        if self._shares_memory:
            self._separate(slot.name for slot in entry.results if slot.kind == "state")
        return results

    def _separate(self, changed: Iterable[str]) -> None:
        """Copies each changed state whose memory is also that of other state.

        IREE returns equal results in one buffer. A later call may update one of them in place.
        """
        names = set(changed)
        if not names or len(self._state) == 1:
            return
        taken = set()
        # State that the call did not change comes first: it keeps its memory.
        for name in sorted(self._state, key=names.__contains__):
            view, dtype = self._state[name]
            if not (size := view.get_buffer().byte_length()):
                continue
            content = view.get_buffer().map().asarray((size,), np.dtype(np.uint8))
            if content.ctypes.data in taken:
                view = self._to_device(content, view.shape, dtype)
                self._state[name] = view, dtype
            taken.add(content.ctypes.data)

    def _to_device(self, content: np.ndarray, shape: Any, dtype: np.dtype) -> rt.HalBufferView:
        buffer = self._device.allocator.allocate_buffer_copy(
            memory_type=rt.MemoryType.DEVICE_LOCAL,
            allowed_usage=rt.BufferUsage.DEFAULT
            | (rt.BufferUsage.MAPPING if self._shares_memory else rt.BufferUsage.NONE),
            device=self._device,
            buffer=content,
        )
        return rt.HalBufferView(buffer, tuple(shape), iree_type(dtype))

    def _to_host(self, view: rt.HalBufferView, dtype: np.dtype) -> np.ndarray:
        result = np.empty(tuple(view.shape), dtype)
        if result.size:
            buffer = view.get_buffer()
            if not self._shares_memory:
                buffer = self._copied(buffer)
            mapped = buffer.map().asarray((result.nbytes,), np.dtype(np.uint8))
            result.reshape(-1).view(np.uint8)[:] = mapped
        return result

    def _copied(self, source: rt.HalBuffer) -> rt.HalBuffer:
        """Copies a buffer of the device to the CPU's memory."""
        host = self._device.allocator.allocate_buffer(
            memory_type=rt.MemoryType.HOST_LOCAL | rt.MemoryType.DEVICE_VISIBLE,
            allowed_usage=rt.BufferUsage.TRANSFER_TARGET | rt.BufferUsage.MAPPING,
            allocation_size=source.byte_length(),
        )
        semaphore = self._device.create_semaphore(0)
        done = rt.HalFence.create_at(semaphore, 1)
        self._device.queue_copy(
            source,
            host,
            wait_semaphores=rt.HalFence.create_at(semaphore, 0),
            signal_semaphores=done,
        )
        done.wait()
        return host

    @property
    def _shares_memory(self) -> bool:
        return self.manifest.device.startswith("local-")
