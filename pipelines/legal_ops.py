"""Resolves the names that users give for operators that a backend keeps."""

from __future__ import annotations

from collections.abc import Collection

from unmess.core.errors.error import Error
from unmess.core.options.names import did_you_mean


def legal_ops(names: Collection[str]) -> frozenset[str]:
    """Returns the names in the torch dialect: `aten.gelu` for `aten.gelu.default`.

    Raises:
        Error: stage `usage`, for an unknown operator.
    """
    if not names:
        return frozenset()
    # This import takes 0.5 s.
    from torch_mlir.dialects import _torch_ops_gen

    dialect = {
        operation.OPERATION_NAME.removeprefix("torch.")
        for operation in vars(_torch_ops_gen).values()
        if hasattr(operation, "OPERATION_NAME")
    }
    found = frozenset(name.removesuffix(".default") for name in names)
    for name in sorted(found - dialect):
        if not _is_in_pytorch(name):
            raise Error(
                "usage",
                f"there is no operator {name!r}",
                hint=did_you_mean(name, dialect, "write it like aten.softmax.int or mylib.foo"),
            )
    return found


def _is_in_pytorch(name: str) -> bool:
    """Returns whether an operator of a loaded library has this name."""
    # Imported here, because only operators that the torch dialect lacks need PyTorch.
    import torch

    library, _, rest = name.partition(".")
    operator, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, library), operator, None) if operator else None
    return packet is not None and (overload or "default") in packet.overloads()
