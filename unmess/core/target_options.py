"""Which hardware a program is compiled for, and how."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TargetOptions:
    """Which hardware a program is compiled for; each field concerns one runner alone.

    Attributes:
        cpu: of `iree-cpu`: `host` for this machine's with all its features, `generic` for any of
            its architecture, or a name that LLVM knows, such as `znver3`.
        cuda: of `iree-cuda`, such as `sm_80`. None: the device that is there, or where there is
            none, `sm_89`, whose code also runs on the data-centre GPUs after it.
        hip: of `iree-hip`, such as `gfx942`. None: as for `cuda`.
        vulkan: of `iree-vulkan`, a name that IREE knows, such as `rdna3`. None: what the device
            that is there reports, or where there is none, what desktop devices have in common.
        preset: of `iree-cpu`, a named set of the compiler's options. None: what `unmess tune` has
            found for the program, or one that goes by what is in it.
    """

    cpu: str = "host"
    cuda: str | None = None
    hip: str | None = None
    vulkan: str | None = None
    preset: str | None = None
