"""What a program's parameters are read from when it is loaded."""

from __future__ import annotations

from collections.abc import Mapping

import iree.runtime as rt
import torch

from pipelines.iree.packing import packed_weights
from pipelines.iree.parameters import SCOPE
from pipelines.iree.weight_files import ALIGNMENT, aligned_file, map_weights, packed_file
from unmess.core.note import Note


def parameters(
    weights: Mapping[str, torch.Tensor], *, shared_memory: bool
) -> tuple[rt.ParameterProvider, tuple[Note, ...]]:
    """Parameters that read the tensors' own memory, or a file that holds the same.

    Args:
        weights: must outlive what is returned.
        shared_memory: whether the device computes in the CPU's memory. Then weights at addresses
            that it can use are used there; the others come from a file that is mapped, or, where
            none can be written, are copied by IREE.

    Returns:
        The provider, and what there is to say.
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
                f"{size / 1e6:,.0f} MB that are not aligned to {ALIGNMENT} bytes are read from "
                f"{file}, written once",
            ),
        )
        mapped = dict(map_weights(file).items())
        for name in apart:
            entry = mapped[name]
            handle, offset = entry.file_storage
            index.add_from_file_handle(name, handle, entry.length, offset)
    for name, tensor in weights.items():
        if name not in apart:
            index.add_buffer(name, tensor.reshape(-1).view(torch.uint8).numpy())
    return index.create_provider(scope=SCOPE), notes


def packed_parameters(
    weights: Mapping[str, torch.Tensor], code: bytes, packer: bytes
) -> tuple[rt.ParameterProvider, tuple[Note, ...]]:
    """What a program with a packer reads: from a file that is mapped, or from memory of its own.

    Args:
        code: of the program.

    Returns:
        The provider, and what there is to say.

    Raises:
        Error: stage `load`, where the weights cannot be packed.
    """
    file = packed_file(weights, code, packer)
    if file is None:
        index = rt.ParameterIndex()
        for name, tensor in packed_weights(code, packer, weights).items():
            index.add_buffer(name, tensor.reshape(-1).view(torch.uint8).numpy())
        notes = (Note("weights", "packed for this process alone, in memory of their own"),)
    else:
        index = map_weights(file)
        size = file.stat().st_size / 1e6
        notes = (Note("weights", f"{size:,.0f} MB, packed, are read from {file}, written once"),)
    return index.create_provider(scope=SCOPE), notes


def _misaligned(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        name: tensor
        for name, tensor in weights.items()
        if tensor.numel() and tensor.data_ptr() % ALIGNMENT
    }
