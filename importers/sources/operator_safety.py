"""The PyTorch operators that only compute, without access to files, processes or network."""

from __future__ import annotations

# Namespaces of operators that only compute. Others belong to libraries that do more (`image` reads
# and writes files, `c10d` and `symm_mem` communicate with other processes), or are unknown.
NAMESPACES = frozenset(
    (
        "aten",
        "prim",
        "prims",
        "quantized",
        "quantized_decomposed",
        "torchvision",
        "mkldnn",
        "sparse",
        "unmess",
    )
)
# Operators in these namespaces that read or write files, or call other machines.
NAMES = frozenset(("from_file", "save", "load", "rpc_async", "rpc_sync", "rpc_remote"))


def is_harmless(namespace: str, name: str) -> bool:
    """Returns True if an operator, such as `aten` and `add`, only computes."""
    return namespace in NAMESPACES and name not in NAMES
