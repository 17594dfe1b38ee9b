"""Loads modules on runners by name."""

from __future__ import annotations

from pipelines.executable import Executable
from unmess.core.error import Error
from unmess.core.module import Module
from unmess.core.names import check_runner
from unmess.core.note import Note
from unmess.core.target_options import TargetOptions

UNCHECKED = Note("unchecked", "indices and other data are not checked when the program runs")


def load(
    module: Module, on: str, target: TargetOptions | None = None, *, unchecked: bool = False
) -> Executable:
    """Lowers, compiles and loads `module`. Does not change it.

    Args:
        target: the hardware to compile for. The reference runner compiles for this machine.
        unchecked: omit run-time checks of data. An index that is out of range then reads or writes
            memory of others.

    Raises:
        Error: stage `usage` for an unknown runner or for IR whose weights were elided; otherwise
            the stage that failed.
    """
    check_runner(on)
    if module.weight_mode == "elide":
        raise Error(
            "usage", "IR without its weights cannot be run", hint="lower with weights='external'"
        )
    # Import only the libraries of the requested runner.
    if on == "reference":
        from pipelines.reference.executable import ReferenceExecutable

        executable = ReferenceExecutable(module, unchecked=unchecked)
    else:
        from pipelines.iree.executable import IreeExecutable

        executable = IreeExecutable(module, on, target, unchecked=unchecked)
    if unchecked:
        executable.notes += (UNCHECKED,)
    return executable
