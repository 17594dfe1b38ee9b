"""Weights that stay packed: integers of few bits with scales, unpacked by the program itself.

A format is a file with four things: the name by which a GGUF file says that a tensor has it, how
its blocks are split into separate tensors, how these are unpacked in the program (operators of
PyTorch on integer tensors, so that every output dialect has them), and how blocks are unpacked in
NumPy, which is the truth for the tests.
"""

from __future__ import annotations

from importers.packed.format import Format
from importers.packed.q4 import Q4_0, Q4_1
from importers.packed.q4_k import Q4_K
from importers.packed.q5 import Q5_0, Q5_1
from importers.packed.q5_k import Q5_K
from importers.packed.q6_k import Q6_K
from importers.packed.q8 import Q8_0

__all__ = ["FORMATS", "Format"]

# By the name of the tensor type in GGUF.
FORMATS: dict[str, Format] = {
    each.name: each for each in (Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K)
}
