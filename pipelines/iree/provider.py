"""Provides the parameters of a program when it is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import iree.runtime as rt
import torch

from pipelines.compiled import Compiled
from pipelines.iree.ownership import file_over
from pipelines.iree.packing import packed_weights
from pipelines.iree.parameters import SCOPE
from pipelines.iree.weight_files import ALIGNMENT, aligned_file, are_large, map_weights, packed_file
from unmess.core.program.note import Note


@dataclass(frozen=True)
class Parameters:
    """The parameters of a program.

    Attributes:
        provider: provides the parameters to IREE.
        notes: what to report about them.
        memory: the tensors that the provider reads from. They must outlive the program.
        borrowed: the weights whose own memory the program reads in each call.
    """

    provider: rt.ParameterProvider
    notes: tuple[Note, ...]
    memory: Mapping[str, torch.Tensor]
    borrowed: Mapping[str, torch.Tensor] = field(default_factory=dict)


def parameters(weights: Mapping[str, torch.Tensor], *, shared_memory: bool) -> Parameters:
    """Returns parameters that are read from the tensors' own memory or from a file.

    Args:
        shared_memory: whether the device computes in the CPU's memory. If so, aligned weights are
            used where they are. The others are mapped from a file; if it cannot be written, IREE
            copies them.
    """
    index, notes = rt.ParameterIndex(), ()
    apart = _misaligned(weights) if shared_memory else {}
    file = aligned_file(apart) if apart else None
    if file is None:
        apart = {}
    else:
        size = sum(tensor.nbytes for tensor in apart.values())
        notes = (
            Note(
                "weights",
                f"{size / 1e6:,.0f} MB of weights are not aligned to {ALIGNMENT} bytes: "
                f"stored once in {file} and read from there",
            ),
        )
        mapped = dict(map_weights(file).items())
        for name in apart:
            entry = mapped[name]
            handle, offset = entry.file_storage
            index.add_from_file_handle(name, handle, entry.length, offset)
    for name, tensor in weights.items():
        if name not in apart:
            index.add_from_file_handle(name, file_over(tensor), tensor.nbytes)
    borrowed = {name: tensor for name, tensor in weights.items() if name not in apart}
    return Parameters(
        index.create_provider(scope=SCOPE), notes, weights, borrowed if shared_memory else {}
    )


def packed_parameters(weights: Mapping[str, torch.Tensor], compiled: Compiled) -> Parameters:
    """Returns packed parameters that are mapped from a file, or held in private memory.

    Args:
        compiled: a program that converts weights.

    Raises:
        Error: stage `load`, if the weights cannot be packed.
    """
    file = packed_file(weights, compiled)
    memory, notes = {}, ()
    if file is None:
        memory = packed_weights(compiled, weights)
        index = rt.ParameterIndex()
        for name, tensor in memory.items():
            index.add_from_file_handle(name, file_over(tensor), tensor.nbytes)
        if are_large(weights):
            notes = (Note("weights", "packed in private memory of this process"),)
    else:
        index = map_weights(file)
        size = file.stat().st_size / 1e6
        notes = (
            Note(
                "weights",
                f"{size:,.0f} MB of packed weights are stored once in {file} and read from there",
            ),
        )
    return Parameters(index.create_provider(scope=SCOPE), notes, memory)


def _misaligned(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        name: tensor
        for name, tensor in weights.items()
        if tensor.numel() and tensor.data_ptr() % ALIGNMENT
    }
