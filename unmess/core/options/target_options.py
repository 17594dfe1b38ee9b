"""Options for the hardware that a program is compiled for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TargetOptions:
    """The hardware that a program is compiled for. Each field applies to one runner only.

    Attributes:
        cpu: for `iree-cpu`: `host` for this computer's CPU with all its features, `generic` for any
            CPU of its architecture, or a name that LLVM knows, such as `znver3`.
        cuda: for `iree-cuda`, such as `sm_80`. None: the device that is present; without one,
            `sm_89`, whose code also runs on later data-center GPUs.
        hip: for `iree-hip`, such as `gfx942`. None: the device that is present; without one,
            `gfx942`.
        vulkan: for `iree-vulkan`, a name that IREE knows, such as `rdna3`. None: what the device
            that is present reports; without one, what desktop devices have in common.
        preset: for `iree-cpu`, a named set of the compiler's options. None: the preset that `unmess
            tune` found for the program, else one chosen by the program's contents.
    """

    cpu: str = "host"
    cuda: str | None = None
    hip: str | None = None
    vulkan: str | None = None
    preset: str | None = None
