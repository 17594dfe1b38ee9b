"""Asks a backend whether it supports the operations of a module."""

from __future__ import annotations

from pipelines.backends.backend import Backend
from pipelines.backends.preparing import prepared
from pipelines.ir.modules import find_operations
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line
from unmess.core.module.module import Module

# Enclosing operations, which a backend is not asked about.
_STRUCTURE = ("builtin.module", "func.func")


def check_supported(backend: Backend, module: Module) -> None:
    """Asks `Backend.supports` about each operation of the IR that the backend takes.

    Does nothing for backends without this method. The module is not changed.

    Raises:
        Error: stage `compile`, with the source line of the first operation that is not supported;
            the stage that failed, if the module does not lower.
    """
    if not hasattr(backend, "supports") or backend.input.stage is None:
        return
    lowered = prepared(module, backend.input)
    refused = find_operations(
        lowered.ir,
        lambda operation: (
            operation.name not in _STRUCTURE and not backend.supports(operation.opview)
        ),
    )
    if not refused:
        return
    # Constants come first in the IR, and have no lines: name them last.
    refused.sort(key=lambda operation: location_line(operation.location) is None)
    names = ", ".join(dict.fromkeys(operation.name for operation in refused))
    raise Error(
        "compile",
        f"{backend.name} does not support {names}",
        where=location_line(refused[0].location),
        hint="add it to the backend, or decompose it: docs/add-a-decomposition.md",
    )
