"""Operators that a backend wants to keep as they are, by the names that users give."""

from __future__ import annotations

from collections.abc import Collection

from unmess.core.error import Error
from unmess.core.suggest import did_you_mean


def legal_ops(names: Collection[str]) -> frozenset[str]:
    """The names as the torch dialect has them: `aten.gelu` for `aten.gelu.default`.

    Raises:
        Error: stage `usage`, for a name that no operator has.
    """
    if not names:
        return frozenset()
    # Importing it takes 0.5 s.
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
                f"no operator is called {name!r}",
                hint=did_you_mean(name, dialect, "as in aten.softmax.int or mylib.foo"),
            )
    return found


def _is_in_pytorch(name: str) -> bool:
    """Whether an operator of a library that is loaded has this name."""
    # Only operators that the torch dialect lacks need it.
    import torch

    library, _, rest = name.partition(".")
    operator, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, library), operator, None) if operator else None
    return packet is not None and (overload or "default") in packet.overloads()
