"""Operators of PyTorch that only compute: no files, no processes, no network."""

from __future__ import annotations

# Namespaces of operators that only compute. Others belong to libraries that do more (`image`
# reads and writes files, `c10d` and `symm_mem` talk to other processes), or to nobody known.
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
    )
)
# Operators in these namespaces that read or write files, or call other machines.
NAMES = frozenset(("from_file", "save", "load", "rpc_async", "rpc_sync", "rpc_remote"))


def is_harmless(namespace: str, name: str) -> bool:
    """Whether an operator, such as `aten` and `add`, does nothing but compute."""
    return namespace in NAMESPACES and name not in NAMES
