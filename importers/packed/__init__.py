"""Weights that stay packed: integers of few bits with scales, unpacked by the program itself.

A format describes the packed tensors of GGUF files. Each format is a file that defines:

- the name of the tensor type in GGUF;
- how to split blocks into separate tensors;
- how the program unpacks these tensors, with PyTorch's operators on integer tensors, which every
  output dialect supports;
- how to unpack blocks in NumPy, as the reference for tests.

A layout describes the packed tensors of a transformers folder. Each layout is a file that defines:

- its name in config.json;
- which tensors hold a matrix;
- how to convert them to the tensors of a format;
- how to unpack them in NumPy.
"""

from __future__ import annotations

from importers.packed.awq import AWQ
from importers.packed.compressed_tensors import COMPRESSED_TENSORS
from importers.packed.float8 import FLOAT8, FP8
from importers.packed.format import Format, Packing
from importers.packed.gptq import GPTQ
from importers.packed.grouped import INT4, INT8
from importers.packed.layout import Layout
from importers.packed.mxfp4 import MXFP4, MXFP4_EXPERTS
from importers.packed.q4 import Q4_0, Q4_1
from importers.packed.q4_k import Q4_K
from importers.packed.q5 import Q5_0, Q5_1
from importers.packed.q5_k import Q5_K
from importers.packed.q6_k import Q6_K
from importers.packed.q8 import Q8_0

__all__ = ["FORMATS", "LAYOUTS", "PACKINGS", "Format", "Layout", "Packing"]

# By the name of the tensor type in GGUF.
FORMATS: dict[str, Format] = {
    each.name: each for each in (Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, MXFP4)
}
# By the name in the operator that unpacks weights.
PACKINGS: dict[str, Packing] = {**FORMATS, **{each.name: each for each in (INT4, INT8, FLOAT8)}}
# By `quant_method` in config.json.
LAYOUTS: dict[str, Layout] = {
    each.method: each for each in (GPTQ, AWQ, COMPRESSED_TENSORS, FP8, MXFP4_EXPERTS)
}
