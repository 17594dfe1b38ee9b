"""Loads modules on backends by name."""

from __future__ import annotations

from pipelines.backends.executable import Executable
from pipelines.backends.finding import find_backend
from unmess.core.errors.error import Error
from unmess.core.module.module import Module
from unmess.core.options.target_options import TargetOptions
from unmess.core.program.note import Note

UNCHECKED = Note("unchecked", "indices and other data are not checked at run time")


def load(
    module: Module, on: str, target: TargetOptions | None = None, *, unchecked: bool = False
) -> Executable:
    """Lowers, compiles and loads `module`. Does not change it.

    Args:
        on: the name of a backend, or a file of one.
        target: the hardware to compile for, for backends that have a choice.
        unchecked: omit run-time checks of data. An index that is out of range then reads or writes
            memory outside of its tensor.

    Raises:
        Error: stage `usage` for an unknown backend or for IR whose weights were elided; otherwise
            the stage that failed.
    """
    # Check here: otherwise, the exception would seem to come from the backend.
    if not isinstance(target, TargetOptions | None):
        raise TypeError(f"target is a {type(target).__name__}")
    backend = find_backend(on)
    if module.weight_mode == "elide":
        raise Error(
            "usage", "cannot run IR without its weights", hint="lower with weights='external'"
        )
    # A backend of the user's own checks nothing that its input does not check.
    checks = hasattr(backend, "configured")
    if checks:
        backend = backend.configured(target, unchecked)
    executable = Executable(module, backend)
    if unchecked or not checks:
        executable.notes += (UNCHECKED,)
    return executable
