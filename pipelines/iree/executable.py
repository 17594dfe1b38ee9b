"""Runs programs that IREE compiles, with IREE's runtime in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import iree.runtime as rt
import torch

from pipelines.compiled import Compiled
from pipelines.executable import Executable
from pipelines.iree.cpu_features import check_cpu
from pipelines.iree.ownership import shared
from pipelines.iree.provider import packed_parameters, parameters
from pipelines.iree.state import DeviceState
from pipelines.iree.targets import Target, remedy, target
from pipelines.iree.transfer import Transfer, device_error, is_of_device
from pipelines.iree.vm_module import vm_module
from unmess.core.check import failed_check
from unmess.core.current_stage import enter_stage
from unmess.core.drivers import PROBLEMS, short_problem
from unmess.core.error import Error
from unmess.core.module import Module
from unmess.core.signature import Argument, Result, Signature, TensorSpec
from unmess.core.target_options import TargetOptions
from unmess.core.weights import BorrowedMemory


class IreeExecutable(Executable):
    """A program on one of IREE's devices."""

    def __init__(
        self,
        module: Module,
        runner: str,
        options: TargetOptions | None = None,
        *,
        unchecked: bool = False,
    ):
        """Compiles and loads `module`, at any stage up to `linalg`, without changing it.

        Args:
            unchecked: omit index checks and assertions.

        Raises:
            Error: the stage that failed, up to `load`.
        """
        super().__init__(module)
        self.runner = runner
        chosen = target(runner, options)
        self.notes += chosen.notes
        with self._compiling():
            compiled = vm_module(module, runner, chosen, self.seconds, unchecked=unchecked)
        self.notes += compiled.notes
        self.preset = compiled.preset
        check_cpu(chosen.options)
        self._change_one_by_one(compiled.has_globals)
        enter_stage("load")
        start = time.perf_counter()
        try:
            self._load(compiled, chosen)
        except PROBLEMS as problem:
            if is_of_device(problem):
                raise device_error(problem, "loading the program", "load") from problem
            raise Error(
                "load",
                f"IREE does not load the module on {chosen.device}: {short_problem(str(problem))}",
                hint=remedy(runner) or "`unmess targets` shows what runs here",
            ) from problem
        self._lock = threading.Lock()
        self.seconds["load"] = time.perf_counter() - start

    def _load(self, compiled: Compiled, chosen: Target) -> None:
        instance = rt.VmInstance()
        device = rt.get_device(chosen.device)
        self._transfer = Transfer(device, chosen.device)
        modules = [rt.create_hal_module(instance, device)]
        if self._weights:
            self._parameters = (
                packed_parameters(self._weights, compiled.code, compiled.packer)
                if compiled.packer is not None
                else parameters(self._weights, shared_memory=self._transfer.shares_memory)
            )
            self._borrowed = BorrowedMemory(self._parameters.borrowed)
            modules.append(rt.create_io_parameters_module(instance, self._parameters.provider))
            self.notes += self._parameters.notes
        program = rt.VmModule.copy_buffer(instance, compiled.code)
        self._context = rt.VmContext(instance, [*modules, program])
        self._functions = {entry: program.lookup_function(entry) for entry in self.signatures}
        if not self._transfer.shares_memory:
            self.state = DeviceState(self.state, self._transfer)

    def _invoke(self, entry: str, arguments: Sequence[Any]) -> list[Any]:
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
        signature = self.signatures[entry]
        outputs = rt.VmVariantList(len(signature.results))
        try:
            # A VM context is not thread-safe.
            with self._lock:
                self._context.invoke(self._functions[entry], inputs, outputs)
        except PROBLEMS as problem:
            if check := failed_check(str(problem)):
                raise check.error() from problem
            if is_of_device(problem):
                raise device_error(problem, "running the program") from problem
            raise Error(
                "run",
                f"IREE stopped: {short_problem(str(problem))}",
                hint="an index or a size may be out of range: compare with the model in eager",
            ) from problem
        return self._results(signature, outputs, arguments)

    def _state_operand(self, argument: Argument) -> Any:
        if isinstance(self.state, DeviceState):
            value = self.state.where_it_is(argument.name)
            if isinstance(value, rt.HalBufferView):
                return value
        return super()._state_operand(argument)

    def _keep_state(self, result: Result, value: Any) -> None:
        if isinstance(self.state, DeviceState):
            self.state.keep(result.name, value, result.spec.dtype)
        else:
            super()._keep_state(result, value)

    def _results(
        self, signature: Signature, outputs: rt.VmVariantList, arguments: Sequence[Any]
    ) -> list[Any]:
        results: list[Any] = []
        for index, result in enumerate(signature.results):
            if not isinstance(result.spec, TensorSpec):
                results.append(result.spec.type(outputs.get_variant(index)))
                continue
            view = outputs.get_as_object(index, rt.HalBufferView)
            # State that the call does not return stays on the device until it is read.
            stays = result.kind == "state" and index not in signature.outputs
            if stays and not self._transfer.shares_memory:
                results.append(view)
            else:
                results.append(self._transfer.to_torch(view, result.spec.dtype))
        if self._transfer.shares_memory:
            self._keep_updated(signature, arguments, results)
            kinds = [argument.kind for argument in signature.arguments if argument.kind != "weight"]
            given = list(zip(kinds, arguments, strict=True))
            found = list(zip((result.kind for result in signature.results), results, strict=True))
            for index in shared(given, found):
                results[index] = results[index].clone()
        return results

    def _keep_updated(
        self, signature: Signature, arguments: Sequence[Any], results: list[Any]
    ) -> None:
        """Replaces state that was updated in place by the original tensor.

        The returned tensor refers to that tensor's memory through IREE. Each call would add another
        reference.
        """
        given = (argument for argument in signature.arguments if argument.kind != "weight")
        before = {
            argument.name: value
            for argument, value in zip(given, arguments, strict=True)
            if argument.kind == "state"
        }
        for index, result in enumerate(signature.results):
            if result.kind == "state" and index not in signature.outputs:
                old = before.get(result.name)
                if old is not None and old.numel() and old.data_ptr() == results[index].data_ptr():
                    results[index] = old
