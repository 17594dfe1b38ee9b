"""Names that users write: strategies, file suffixes. Quick to import."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from unmess.core.errors.error import Error
from unmess.core.errors.stages import IR_STAGES

# Suffixes of IR files: text, bytecode, and bytecode as `jax.export` serializes it.
JAX_SUFFIX = ".jax_export"
IR_SUFFIXES = (".mlir", ".mlirbc", JAX_SUFFIX)
# Values of `fallback`: the systems that run operators that a backend does not support.
FALLBACKS = ("eager",)
WEIGHTS = ("external", "inline", "elide", "splat")
STRATEGIES = ("auto", "non-strict", "strict", "draft", "make_fx", "lazy")


def check_stage(stage: str) -> None:
    """Raises an Error (`usage`) if `stage` is not the name of a stage."""
    check_name("stage", stage, IR_STAGES)


def check_weight_mode(weights: str) -> None:
    """Raises an Error (`usage`) if `weights` is not a mode of weights."""
    check_name("weights", weights, WEIGHTS)


def check_upstream_only(stage: str, upstream_only: bool) -> None:
    """Raises an Error (`usage`) if `upstream_only` is set for a stage other than linalg."""
    if upstream_only and stage != "linalg":
        raise Error(
            "usage",
            f"--upstream-only applies to linalg, not to {stage}",
            hint="use --to linalg --upstream-only; `unmess portable` lists what upstream MLIR "
            "does not have",
        )


def check_linalg_form(
    stage: str, set_size: bool, nhwc: bool, generalize: bool, specialize: bool, outline: bool
) -> None:
    """Raises an Error (`usage`) if options for linalg are set for another stage or contradict."""
    if generalize and specialize:
        raise Error(
            "usage",
            "--generalize and --specialize exclude each other",
            hint="pass only one of them",
        )
    options = {
        "--set-size": set_size,
        "--nhwc": nhwc,
        "--generalize": generalize,
        "--specialize": specialize,
        "--outline": outline,
    }
    for option, is_set in options.items():
        if is_set and stage != "linalg":
            raise Error(
                "usage",
                f"{option} applies to linalg, not to {stage}",
                hint=f"use --to linalg {option}",
            )


def check_portable(stage: str, weights: str, version: str | None) -> None:
    """Raises an Error (`usage`) if IR of that stage and mode of weights has no portable form.

    Args:
        version: StableHLO's version of the artifact, such as `1.9.0`; None for no artifact.
    """
    if version is None:
        return
    if stage != "stablehlo":
        raise Error(
            "usage",
            f"--portable applies to stablehlo, not to {stage}",
            hint="use --to stablehlo --portable VERSION",
        )
    if weights not in ("external", "splat"):
        raise Error(
            "usage",
            f"a portable artifact cannot have {weights} weights",
            hint="use --weights external: the weights are written beside the file",
        )
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise Error(
            "usage",
            f"{version!r} is not a version of StableHLO",
            hint="give one such as 1.9.0",
        )


def check_name(what: str, name: str, names: tuple[str, ...]) -> None:
    """Raises an Error (`usage`) if `name` is none of `names`."""
    if name not in names:
        raise Error("usage", f"unknown {what} {name!r}", hint=f"use one of {', '.join(names)}")


def nearest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Returns up to `count` of `names` similar to `name`, the nearest first. Ignores case."""
    by_lower: dict[str, list[str]] = {}
    for candidate in names:
        by_lower.setdefault(candidate.lower(), []).append(candidate)
    found = difflib.get_close_matches(name.lower(), by_lower, n=count, cutoff=0.6)
    return [candidate for match in found for candidate in by_lower[match]][:count]


def did_you_mean(name: str, names: Iterable[str], otherwise: str | None = None) -> str | None:
    """Returns `did you mean A, B or C?`, or `otherwise` if no name is similar."""
    found = nearest(name, names)
    if not found:
        return otherwise
    *first, last = found
    return f"did you mean {', '.join(first)} or {last}?" if first else f"did you mean {last}?"
