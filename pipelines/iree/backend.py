"""IREE's targets as backends: programs that IREE compiles, on its runtime in this process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import iree.runtime as rt
import torch

from pipelines.backends.backend import BackendInput, Numerics
from pipelines.compiled import Compiled
from pipelines.iree.cpu_features import check_cpu
from pipelines.iree.exit import release_at_exit
from pipelines.iree.idle_threads import end_idle_threads
from pipelines.iree.open_devices import (
    device_error,
    is_lost,
    is_of_device,
    open_device,
    replace_device,
)
from pipelines.iree.ownership import shared
from pipelines.iree.provider import packed_parameters, parameters
from pipelines.iree.state import DeviceState
from pipelines.iree.targets import Target, remedy, target
from pipelines.iree.transfer import Transfer
from pipelines.iree.vm_module import vm_module
from unmess.core.errors.check import failed_check
from unmess.core.errors.error import Error
from unmess.core.errors.iree_runtime import PROBLEMS, short_problem
from unmess.core.module.module import Module
from unmess.core.options.target_options import TargetOptions
from unmess.core.processes.undisturbed_calls import UndisturbedCalls
from unmess.core.program.borrowed_memory import BorrowedMemory
from unmess.core.program.note import Note
from unmess.core.signature.signature import Signature, TensorSpec

# Called with a key, and copies of traced tensors on the CPU; None if PyTorch has no such dtype.
Trace = Callable[[str, Sequence[torch.Tensor | None]], None]


@dataclass(frozen=True)
class Artifact:
    """A VM module, the target that it is for, and the weights that it reads.

    Attributes:
        weights: by name, row-major, in CPU memory.
    """

    compiled: Compiled
    target: Target
    weights: Mapping[str, torch.Tensor]
    signatures: Mapping[str, Signature]

    @property
    def notes(self) -> tuple[Note, ...]:
        """Choices that the user did not make."""
        return (*self.target.notes, *self.compiled.notes)

    @property
    def preset(self) -> str | None:
        """The preset of IREE's compiler."""
        return self.compiled.preset

    @property
    def has_globals(self) -> bool:
        """Whether it changes memory of its own when it runs."""
        return self.compiled.has_globals


@dataclass(frozen=True)
class IreeBackend:
    """A target of IREE. Takes modules at any stage up to `linalg`, `tosa` or `stablehlo`.

    Attributes:
        target: the hardware to compile for. None: this machine.
        unchecked: omit index checks and assertions.
    """

    name: str
    target: TargetOptions | None = None
    unchecked: bool = False
    input = BackendInput(stage=None, weights="external", several_entries=True, tensors="native")
    numerics = Numerics(flushes_subnormals=True, units_of_one=4)

    def configured(self, target: TargetOptions | None, unchecked: bool) -> IreeBackend:
        """Returns the backend with these options."""
        return replace(self, target=target, unchecked=unchecked)

    def compile(self, module: Module, folder: Path) -> Artifact:
        """See `Backend.compile`."""
        return artifact_for(module, self.name, target(self.name, self.target), self.unchecked)

    def load(self, artifact: Artifact) -> Program:
        """See `Backend.load`."""
        check_cpu(artifact.target.options)
        driver = artifact.target.device
        try:
            try:
                return Program(artifact)
            except PROBLEMS as problem:
                if not is_lost(problem):
                    raise
                # Mesa's lavapipe loses its device in about one of twenty loads of BERT.
                replace_device(driver)
                note = Note("device", "the driver lost the device during the load: loaded again")
                return Program(artifact, notes=(note,))
        except PROBLEMS as problem:
            if is_of_device(problem):
                raise device_error(problem, driver, "loading the program", "load") from problem
            raise Error(
                "load",
                f"IREE cannot load the module on {driver}: {short_problem(str(problem))}",
                hint=remedy(self.name) or "`unmess targets` shows what runs here",
            ) from problem

    def reproducer(self, module: Module) -> tuple[str, str]:
        """See `Backend.reproducer`. Lowers the module in place."""
        from pipelines.iree.compiler import command_for, input_for
        from pipelines.iree.presets import PRESETS, preset_for, tuned_preset
        from pipelines.iree.vm_module import for_iree, program_key
        from pipelines.lower import lower

        chosen = target(self.name, self.target)
        tuned = tuned_preset(program_key(module, self.name, chosen))
        if module.stage in ("raw", "torch"):
            module = lower(module, "linalg")
        preset = PRESETS[chosen.preset or tuned or preset_for(module)]
        module, _ = for_iree(module, chosen)
        text, options = input_for(module, chosen, preset)
        return command_for(options), text


def artifact_for(module: Module, name: str, chosen: Target, unchecked: bool = False) -> Artifact:
    """Compiles a module for a target.

    Args:
        name: of the backend.

    Raises:
        Error: the stage that failed, up to `compile`.
    """
    compiled = vm_module(module, name, chosen, module.seconds, unchecked=unchecked)
    names = [a.name for s in module.entries.values() for a in s.of_kind("weight")]
    weights = {name: module.weights[name] for name in names}
    return Artifact(compiled, chosen, weights, module.entries)


def backend(name: str) -> IreeBackend:
    """Returns the backend for a target of IREE."""
    return IreeBackend(name)


class Program(dict[str, "_Function"]):
    """The entry functions of a VM module on a device, by name."""

    def __init__(
        self, artifact: Artifact, trace: Trace | None = None, notes: tuple[Note, ...] = ()
    ):
        """Loads an artifact.

        Args:
            trace: called with the tensors that the program traces.
            notes: what to report about the load.
        """
        instance = rt.VmInstance()
        device = open_device(artifact.target.device)
        self._transfer = Transfer(device, artifact.target.device)
        self._borrowed: Mapping[str, torch.Tensor] = {}
        self._notes = notes
        modules = [rt.create_hal_module(instance, device, debug_sink=_sink(trace, self._transfer))]
        compiled, weights = artifact.compiled, artifact.weights
        if weights:
            self._parameters = (
                packed_parameters(weights, compiled)
                if compiled.packs
                else parameters(weights, shared_memory=self._transfer.shares_memory)
            )
            self._borrowed = self._parameters.borrowed
            self._notes = (*notes, *self._parameters.notes)
            modules.append(rt.create_io_parameters_module(instance, self._parameters.provider))
        module = rt.VmModule.copy_buffer(instance, compiled.code)
        context, lock = rt.VmContext(instance, [*modules, module]), threading.Lock()
        super().__init__(
            {
                entry: _Function(
                    module.lookup_function(entry), context, lock, self._transfer, signature
                )
                for entry, signature in artifact.signatures.items()
            }
        )
        release_at_exit(self)

    def hold(
        self, state: MutableMapping[str, torch.Tensor]
    ) -> tuple[BorrowedMemory, MutableMapping[str, torch.Tensor], tuple[Note, ...]]:
        """See `pipelines.backends.parts.HeldState`."""
        if not self._transfer.shares_memory:
            state = DeviceState(state, self._transfer)
        return BorrowedMemory(self._borrowed), state, self._notes


def _sink(trace: Trace | None, transfer: Transfer) -> rt.HalModuleDebugSink | None:
    """Returns the sink that IREE calls with traced tensors.

    It must not refer to the program, because the program refers to it: IREE's objects in a cycle
    are not freed.
    """
    if trace is None:
        return None
    return rt.HalModuleDebugSink(
        lambda key, views: trace(key, [transfer.copy_to_torch(view) for view in views])
    )


class _Function:
    """An entry function of a VM module."""

    def __init__(
        self,
        function: rt.VmFunction,
        context: rt.VmContext,
        lock: threading.Lock,
        transfer: Transfer,
        signature: Signature,
    ):
        """The entry functions of a module share `context` and its `lock`."""
        self._function = function
        self._context = context
        self._lock = lock
        self._transfer = transfer
        self._signature = signature
        # A program on a GPU needs no cores.
        self._undisturbed = (
            UndisturbedCalls(end_idle_threads)
            if transfer.shares_memory
            else contextlib.nullcontext()
        )
        # The kinds of a call's arguments and results.
        given = [each for each in signature.arguments if each.kind != "weight"]
        self._given = [each.kind for each in given]
        self._returned = [each.kind for each in signature.results]
        # For each result, whether it is state that the call does not return, and the position of
        # the argument with the state before the call.
        states = {each.name: place for place, each in enumerate(given) if each.kind == "state"}
        kept = [
            each.kind == "state" and index not in signature.outputs
            for index, each in enumerate(signature.results)
        ]
        self._kept = [
            (stays, states.get(each.name) if stays else None)
            for stays, each in zip(kept, signature.results, strict=True)
        ]
        release_at_exit(self)

    def __call__(self, *arguments: Any) -> list[Any]:
        inputs = rt.VmVariantList(len(arguments))
        for value in arguments:
            if isinstance(value, torch.Tensor):
                inputs.push_ref(self._transfer.to_device(value))
            elif isinstance(value, rt.HalBufferView):
                inputs.push_ref(value)
            elif isinstance(value, float):
                inputs.push_float(value)
            else:
                inputs.push_int(int(value))
        signature = self._signature
        outputs = rt.VmVariantList(len(signature.results))
        try:
            # A VM context is not thread-safe.
            with self._lock, self._undisturbed:
                self._context.invoke(self._function, inputs, outputs)
        except PROBLEMS as problem:
            if check := failed_check(str(problem)):
                raise check.error() from problem
            if is_of_device(problem):
                raise self._transfer.error(problem, "running the program") from problem
            raise Error(
                "run",
                f"IREE stopped the program: {short_problem(str(problem))}",
                hint="an index or a size may be out of range: run this call in eager PyTorch",
            ) from problem
        return self._results(signature, outputs, arguments)

    def _results(
        self, signature: Signature, outputs: rt.VmVariantList, arguments: Sequence[Any]
    ) -> list[Any]:
        results: list[Any] = []
        shares_memory = self._transfer.shares_memory
        for index, (result, (stays, place)) in enumerate(
            zip(signature.results, self._kept, strict=True)
        ):
            if not isinstance(result.spec, TensorSpec):
                results.append(result.spec.type(outputs.get_variant(index)))
                continue
            view = outputs.get_as_object(index, rt.HalBufferView)
            # State that the call does not return stays on the device until it is read.
            if stays and not shares_memory:
                results.append(view)
                continue
            value = self._transfer.to_torch(view, result.spec.dtype)
            if place is not None and _same_memory(value, arguments[place]):
                # State that was updated in place stays the original tensor. The returned tensor
                # refers to that tensor's memory through IREE: each call would add a reference.
                value = arguments[place]
            results.append(value)
        if shares_memory:
            given = list(zip(self._given, arguments, strict=True))
            found = list(zip(self._returned, results, strict=True))
            for index in shared(given, found):
                results[index] = results[index].clone()
        return results


def _same_memory(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    start = tensor.data_ptr()
    return start != 0 and start == other.data_ptr()
