"""Finds which runners compile and run on this machine.

Other commands need only the names of runners, so IREE is imported when it is asked.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.backends.table import COMPILE_ONLY, IREE_TARGETS, RUNNERS, runner_names
from unmess.core.errors.error import Error, first_line

if TYPE_CHECKING:
    from pipelines.iree.devices import Devices

# The modules that a runner needs, each with its distribution.
_REFERENCE = {"torch_mlir": "torch-mlir", "mlir": "xtc-mlir-python-bindings"}
_COMPILER = {"torch_mlir": "torch-mlir", "iree.compiler": "iree-base-compiler"}
_RUNTIME = {"iree.runtime": "iree-base-runtime"}


@dataclass(frozen=True)
class Availability:
    """Whether a runner can be used here.

    Attributes:
        runner: its name, or that of a target that is only compiled for.
        compiles: whether programs can be compiled for it here.
        runs: whether they run here.
        device: what they run on; None where they do not.
        reason: why it does not compile or run, one line; None where it does both.
        remedy: what to install, one line; None if nothing helps or nothing is missing.
    """

    runner: str
    compiles: bool
    runs: bool
    device: str | None = None
    reason: str | None = None
    remedy: str | None = None


def availability() -> list[Availability]:
    """Returns the Availability of every runner and of every compile-only target."""
    others = [_other(name) for name in runner_names() if name not in RUNNERS]
    found = [
        Availability("eager", True, True, "PyTorch, the CPU"),
        _reference(),
    ]
    if missing := _missing({**_COMPILER, **_RUNTIME}):
        remedy = f"install {', '.join(missing)}"
        return (
            found
            + [
                Availability(name, False, False, None, "IREE is not installed", remedy)
                for name in IREE_TARGETS
            ]
            + others
        )
    from pipelines.iree.devices import ask_drivers
    from pipelines.iree.targets import driver

    answers = ask_drivers([driver(name) for name in IREE_TARGETS if name not in COMPILE_ONLY])
    return found + [_iree(name, answers.get(driver(name))) for name in IREE_TARGETS] + others


def _reference() -> Availability:
    if missing := _missing(_REFERENCE):
        remedy = f"install {', '.join(missing)}"
        return Availability("reference", False, False, None, "MLIR is not installed", remedy)
    return Availability("reference", True, True, "the CPU, in this process")


def _iree(name: str, answer: Devices | None) -> Availability:
    from pipelines.iree.targets import driver, remedy

    if answer is None:
        return Availability(name, True, False, None, "compiled here, to run on macOS")
    if answer.default is None:
        return Availability(name, True, False, None, answer.problem, remedy(name))
    device = "the CPU, in threads" if driver(name) == "local-task" else answer.default.name
    return Availability(name, True, True, device)


def _other(name: str) -> Availability:
    """Asks a backend that was registered or installed."""
    from pipelines.backends.finding import find_backend

    try:
        backend = find_backend(name)
        devices = backend.devices() if hasattr(backend, "devices") else ["this machine"]
    except Exception as problem:
        is_error = isinstance(problem, Error)
        reason = problem.cause if is_error else first_line(problem)
        return Availability(name, False, False, None, reason, problem.hint if is_error else None)
    if not devices:
        return Availability(name, True, False, None, "it reports no device")
    about = f": {backend.describe()}" if hasattr(backend, "describe") else ""
    return Availability(name, True, True, f"{', '.join(devices)}{about}")


def _missing(needed: dict[str, str]) -> list[str]:
    return [distribution for module, distribution in needed.items() if not _is_there(module)]


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
