"""The table of backends by name. Quick to import."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unmess.core.errors.error import Error
from unmess.core.options.names import check_name

if TYPE_CHECKING:
    import importlib.metadata

    from pipelines.backends.backend import Backend

# Other packages declare their backends in this group of entry points.
GROUP = "unmess.backends"
FILE = re.compile(r"(.+\.py):(\w+)")
COMMANDS_SUFFIX = ".toml"


@dataclass(frozen=True)
class BuiltIn:
    """A backend of this project.

    Attributes:
        module: the module whose function `backend(name)` returns it.
        is_default: whether it needs no special hardware, and `check` runs it by default.
        is_bundled: whether `unmess run` makes a bundle of a program, which runs without PyTorch.
        architecture: the field of `TargetOptions` that selects the architecture of the GPU.
    """

    module: str
    is_default: bool = False
    is_bundled: bool = False
    architecture: str | None = None


_IREE = "pipelines.iree.backend"
BUILT_IN: dict[str, BuiltIn] = {
    "reference": BuiltIn("pipelines.reference.backend", is_default=True),
    "iree-cpu": BuiltIn(_IREE, is_default=True, is_bundled=True),
    "iree-vulkan": BuiltIn(_IREE, architecture="vulkan"),
    "iree-cuda": BuiltIn(_IREE, architecture="cuda"),
    "iree-hip": BuiltIn(_IREE, architecture="hip"),
}
RUNNERS = tuple(BUILT_IN)
DEFAULT_RUNNERS = tuple(name for name, each in BUILT_IN.items() if each.is_default)
(BUNDLED,) = (name for name, each in BUILT_IN.items() if each.is_bundled)
# Targets that can be compiled for, but not run.
COMPILE_ONLY = ("metal",)
# Targets of IREE's compiler. A bundle is for one of these.
IREE_TARGETS = (*(name for name, each in BUILT_IN.items() if each.module == _IREE), *COMPILE_ONLY)
# Stands for one of the runners on this computer's processor: see `unmess/automatic_runner.py`.
AUTO = "auto"
# Those that were registered in this process.
REGISTERED: dict[str, Backend] = {}
HELP = f"{', '.join(RUNNERS)}, FILE.py:NAME, FILE.toml, or a backend that a package installs"


@functools.cache
def installed() -> dict[str, importlib.metadata.EntryPoint]:
    """Returns the entry points of installed backends by name.

    Raises:
        Error: stage `usage`; two packages have different backends of the same name.
    """
    import importlib.metadata

    found: dict[str, importlib.metadata.EntryPoint] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise Error(
                "usage",
                f"two packages have a backend {point.name}: {other.value}, {point.value}",
                hint="remove one of the packages",
            )
    return found


def runner_names() -> tuple[str, ...]:
    """Returns the names of all backends: built in, registered, and installed."""
    return tuple(dict.fromkeys((*RUNNERS, *REGISTERED, *installed())))


def is_file(on: str) -> bool:
    """Returns whether `on` names a backend in a file."""
    return on.endswith(COMMANDS_SUFFIX) or FILE.fullmatch(on) is not None


def check_runner(on: str) -> None:
    """Raises an Error (`usage`) if `on` does not name a backend. Runs no code of a file."""
    if on in RUNNERS or on in REGISTERED:
        return
    if is_file(on):
        match = FILE.fullmatch(on)
        path = match[1] if match else on
        if not Path(path).expanduser().is_file():
            raise Error("usage", f"no file {path}", hint=f"a runner is {HELP}")
        if not match:
            from pipelines.backends.commands.description import read_description

            read_description(Path(path).expanduser())
        return
    if on in COMPILE_ONLY:
        raise Error(
            "usage",
            f"unmess can compile for {on} here, but not run it",
            hint=f"a runner is one of {', '.join(RUNNERS)}; `unmess package` accepts {on}",
        )
    if on not in installed():
        raise Error(
            "usage",
            f"unknown runner {on!r}",
            hint=f"a runner is one of {', '.join(runner_names())}; FILE.py:NAME; FILE.toml",
        )


def check_packaged(on: str) -> None:
    """Raises an Error (`usage`) if no bundle can be made for `on`."""
    if on not in IREE_TARGETS and (on in runner_names() or is_file(on)):
        raise Error(
            "usage",
            f"cannot package a program for {on}",
            hint=f"use iree-cpu: programs of {on} need torch-mlir at run time",
        )
    check_name("runner", on, IREE_TARGETS)
