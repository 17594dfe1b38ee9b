"""Compiler options for each IREE runner, in one table."""

from __future__ import annotations

from dataclasses import dataclass

# What holds for every target: types stay what the program says.
_COMMON = ("--iree-input-demote-f64-to-f32=false",)


@dataclass(frozen=True)
class Target:
    """A device that IREE compiles for.

    Attributes:
        options: of the compiler.
        device: URI of the runtime's driver and device.
    """

    options: tuple[str, ...]
    device: str


TARGETS = {
    "iree-cpu": Target(
        options=(
            *_COMMON,
            "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
            "--iree-llvmcpu-target-cpu=host",
        ),
        device="local-task",
    ),
}
