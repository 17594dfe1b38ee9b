"""Creates literals of tensors in IR."""

from __future__ import annotations

import torch
from torch_mlir import ir

from unmess.core.program.weights import row_major

# Lifted constants of up to this many elements become literals: lowerings read their values (scales,
# index lists), and readers of the IR can see them.
SMALL_CONSTANT = 64
# NumPy has neither bf16 nor f8, so elements pass as integers of the same width.
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def tensor_literal(tensor: torch.Tensor, tensor_type: ir.Type, name: str) -> ir.Attribute:
    """Returns a literal, without Python lists. A large one references the tensor's memory.

    Args:
        tensor_type: a builtin tensor type.
        name: the name of a large literal in the printed IR.
    """
    data = row_major(tensor)
    if data.numel() <= SMALL_CONSTANT and data.element_size() in WORDS:
        words = data.view(WORDS[data.element_size()]).numpy()
        return ir.DenseElementsAttr.get(words, type=tensor_type)
    memory = data.reshape(-1).view(torch.uint8).numpy()
    return ir.DenseResourceElementsAttr.get_from_buffer(
        memory, name, tensor_type, alignment=data.element_size()
    )
