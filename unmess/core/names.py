"""Names that users write: stages, runners, strategies, file suffixes. Quick to import."""

from __future__ import annotations

from unmess.core.error import Error

STAGES = ("raw", "torch", "linalg", "tosa", "stablehlo")
# Stages at which other compilers take over.
EXITS = ("linalg", "tosa", "stablehlo")
RUNNERS = ("reference", "iree-cpu", "iree-vulkan", "iree-cuda", "iree-hip")
# Runners that need no special hardware.
DEFAULT_RUNNERS = ("reference", "iree-cpu")
# Targets that can be compiled for, but not run.
COMPILE_ONLY = ("metal",)
# Targets of IREE's compiler. A bundle is for one of these.
IREE_TARGETS = (*(name for name in RUNNERS if name.startswith("iree-")), *COMPILE_ONLY)
# Suffixes of IR files: text, bytecode, and bytecode as `jax.export` serializes it.
JAX_SUFFIX = ".jax_export"
IR_SUFFIXES = (".mlir", ".mlirbc", JAX_SUFFIX)
STRATEGIES = ("auto", "non-strict", "strict", "draft", "make_fx", "lazy")


def check_stage(stage: str) -> None:
    """Raises an Error (`usage`) if `stage` is not the name of a stage."""
    check_name("stage", stage, STAGES)


def check_upstream_only(stage: str, upstream_only: bool) -> None:
    """Raises an Error (`usage`) if `upstream_only` is set for a stage other than linalg."""
    if upstream_only and stage != "linalg":
        raise Error(
            "usage",
            f"--upstream-only is for linalg, not for {stage}",
            hint="--to linalg --upstream-only; `unmess portable` tells what upstream MLIR knows",
        )


def check_runner(on: str) -> None:
    """Raises an Error (`usage`) if `on` is not the name of a runner."""
    if on in COMPILE_ONLY:
        raise Error(
            "usage",
            f"{on} is compiled for here, and not run",
            hint=f"a runner is one of {', '.join(RUNNERS)}; `unmess package` takes {on}",
        )
    check_name("runner", on, RUNNERS)


def check_packaged(on: str) -> None:
    """Raises an Error (`usage`) if no bundle can be made for `on`."""
    if on in RUNNERS and on not in IREE_TARGETS:
        raise Error(
            "usage",
            f"a bundle cannot be made for {on}",
            hint="what it compiles needs torch-mlir to be called; take iree-cpu",
        )
    check_name("runner", on, IREE_TARGETS)


def check_name(what: str, name: str, names: tuple[str, ...]) -> None:
    """Raises an Error (`usage`) if `name` is none of `names`."""
    if name not in names:
        raise Error("usage", f"unknown {what} {name!r}", hint=f"one of {', '.join(names)}")
