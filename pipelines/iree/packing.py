"""Packs weights once into the layout that compiled code reads.

Fast code for matrix products and convolutions reads weights in another layout than the model's. By
default, IREE's programs rearrange the weights at each load, into private memory: this doubles the
memory, and processes cannot share it. The compiler can split that part off into a separate module,
the packer. The packer writes nearly all weights of a program, rearranged or not, as one parameter,
which is kept in a file and mapped. Weights that the code does not use are not in it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import iree.runtime as rt
import numpy as np
import torch

from pipelines.compiled import Compiled
from pipelines.iree.ownership import file_over
from pipelines.iree.parameters import SCOPE
from pipelines.iree.presets import PLAIN
from pipelines.iree.targets import KEPT_TYPES
from pipelines.rearranged import with_rearranged
from unmess.core.errors.error import Error
from unmess.core.errors.iree_runtime import PROBLEMS, short_problem

# The parameter that a program reads in place of its weights. The compiler chooses the name.
PACKED = "parameter0"
# The packer runs on this CPU, whatever the program's target is.
PACKER_TARGET = (
    *KEPT_TYPES,
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)

_OUTPUT = "--iree-parameter-encoder-output-file="


def splitting_options(packer: Path) -> tuple[str, ...]:
    """Returns options that make `iree-compile` also write the packer's IR, for PACKER_TARGET."""
    return (
        f"{_OUTPUT}{packer}",
        f"--iree-parameter-encoder-output-scope={SCOPE}",
        "--iree-parameter-encoder-mode=consolidate",
    )


def without_output(option: str) -> str:
    """Returns an option of `iree-compile`, changed to discard the packer's IR."""
    return f"{_OUTPUT}/dev/null" if option.startswith(_OUTPUT) else option


class Packer:
    """A compiled packer and its input weights.

    Attributes:
        size: the size of the packed weights, in bytes.
    """

    def __init__(self, code: bytes, weights: Mapping[str, torch.Tensor]):
        """Loads the packer.

        Args:
            code: the compiled packer.
            weights: contiguous tensors on the CPU.

        Raises:
            Error: stage `load`.
        """
        with _errors():
            instance, self._device = rt.VmInstance(), rt.get_device("local-task")
            self._module = rt.VmModule.copy_buffer(instance, code)
            self._parameters = rt.ParameterIndex()
            self._weights = weights
            for name, tensor in weights.items():
                self._parameters.add_from_file_handle(name, file_over(tensor), tensor.nbytes)
            hal = rt.create_hal_module(instance, self._device)
            provider = self._parameters.create_provider(scope=SCOPE)
            io = rt.create_io_parameters_module(instance, provider)
            self._context = rt.VmContext(instance, [hal, io, self._module])
            self.size = _size(self._context, self._module)

    def pack(self, into: rt.FileHandle, offset: int = 0) -> None:
        """Writes the packed weights, `size` bytes, to a file at `offset`.

        Raises:
            Error: stage `load`.
        """
        with _errors():
            self._parameters.add_from_file_handle(PACKED, into, self.size, offset)
            done = rt.HalFence.create_at(self._device.create_semaphore(0), 1)
            arguments = rt.VmVariantList(3)
            # The steps, which the packer ignores; the fence to wait for; the fence to signal.
            for argument in (rt.VmVariantList(0), rt.HalFence(0), done):
                arguments.push_ref(argument)
            self._context.invoke(_function(self._module, "encode"), arguments, rt.VmVariantList(0))
            done.wait()


def packed_weights(
    compiled: Compiled, weights: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Rearranges weights and packs them into memory.

    Args:
        compiled: a program that converts weights.
        weights: contiguous tensors on the CPU.

    Returns:
        The parameters of the program by name: the packed weights, if it has a packer, and the
        weights that it reads unpacked, such as rearranged ones.

    Raises:
        Error: stage `load`.
    """
    weights = with_rearranged(weights, compiled.rearranged)
    read = {name: weights[name] for name in unpacked_names(compiled.code, weights)}
    if compiled.packer is None:
        return read
    made = Packer(compiled.packer, weights)
    packed = torch.from_numpy(np.zeros(made.size, np.uint8))
    made.pack(file_over(packed, writable=True))
    return {PACKED: packed, **read}


def unpacked_names(code: bytes, names: Iterable[str]) -> list[str]:
    """Returns the names of weights that a program reads unpacked.

    The code contains the names of its parameters verbatim. A name that occurs by chance does no
    harm.
    """
    return [name for name in names if name.encode() in code]


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except PROBLEMS as problem:
        raise Error(
            "load",
            f"IREE cannot pack the weights: {short_problem(str(problem))}",
            hint=f"use --preset {PLAIN}, which does not pack weights",
        ) from problem


def _size(context: rt.VmContext, module: rt.VmModule) -> int:
    """Returns the number of bytes that the packer writes."""
    found = rt.VmVariantList(1)
    context.invoke(_function(module, "indices"), rt.VmVariantList(0), found)
    # A list of scopes. A scope is a name and a list of parameters. A parameter is a kind, name,
    # metadata, length and alignment.
    (scope,) = _lists(found.get_as_list(0))
    (parameter,) = _lists(scope.get_as_list(1))
    return parameter.get_variant(3)


def _lists(found: rt.VmVariantList) -> list[rt.VmVariantList]:
    return [found.get_as_list(index) for index in range(len(found))]


def _function(module: rt.VmModule, role: str) -> rt.VmFunction:
    for name in module.function_names:
        function = module.lookup_function(name)
        if function.reflection.get("iree.encode.function") == role:
            return function
    raise RuntimeError(f"a packer has no function for {role}")
