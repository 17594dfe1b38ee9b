"""What users name: stages, runners, capture strategies. Importing this costs nothing."""

from __future__ import annotations

from unmess.core.error import Error

STAGES = ("raw", "torch", "linalg", "tosa", "stablehlo")
RUNNERS = ("reference", "iree-cpu")
STRATEGIES = ("auto", "non-strict", "strict", "draft", "make_fx", "lazy")


def check_stage(stage: str) -> None:
    """Raises an Error (`usage`) where `stage` is not the name of a stage."""
    check_name("stage", stage, STAGES)


def check_runner(on: str) -> None:
    """Raises an Error (`usage`) where `on` is not the name of a runner."""
    check_name("runner", on, RUNNERS)


def check_name(what: str, name: str, names: tuple[str, ...]) -> None:
    """Raises an Error (`usage`) where `name` is none of `names`."""
    if name not in names:
        raise Error("usage", f"unknown {what} {name!r}", hint=f"one of {', '.join(names)}")
