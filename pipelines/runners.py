"""The runners by name, and how a module gets onto one."""

from __future__ import annotations

from pipelines.executable import Executable
from unmess.core.error import Error
from unmess.core.module import Module
from unmess.core.names import check_runner
from unmess.core.target_options import TargetOptions


def load(module: Module, on: str, target: TargetOptions | None = None) -> Executable:
    """Lowers, compiles and loads `module`, which is left as it is.

    Args:
        target: which hardware to compile for; the reference runner compiles for this machine.

    Raises:
        Error: stage `usage` for an unknown runner or for IR whose weights were elided; else the
            stage that failed.
    """
    check_runner(on)
    if module.weight_mode == "elide":
        raise Error(
            "usage", "IR without its weights cannot be run", hint="lower with weights='external'"
        )
    # A runner's libraries are imported when it is asked for.
    if on == "reference":
        from pipelines.reference.executable import ReferenceExecutable

        return ReferenceExecutable(module)
    from pipelines.iree.executable import IreeExecutable

    return IreeExecutable(module, on, target)
