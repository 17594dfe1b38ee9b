"""From a program to a VM module, by way of the cache where it can be."""

from __future__ import annotations

import hashlib

from pipelines.compiled import Compiled, cache_key, find, has_globals, keep, lowered
from pipelines.iree.compiler import compile_for
from pipelines.iree.presets import PRESETS, preset_for, tuned_preset
from pipelines.iree.targets import Target
from unmess.core.module import Module
from unmess.core.processor import processor
from unmess.core.progress import enter_stage

_PACKAGES = ("torch-mlir", "iree-base-compiler")


def vm_module(module: Module, runner: str, target: Target, seconds: dict[str, float]) -> Compiled:
    """The VM module of a program, whose IR is left as it is. Weights are parameters.

    Args:
        seconds: the time that lowering takes is added to, under `lower`.

    Raises:
        Error: the stage that failed, up to `compile`.
    """
    program = program_key(module, runner, target)
    preset = target.preset or tuned_preset(program)
    key = None if program is None else hashlib.sha256(f"{preset} {program}".encode()).hexdigest()
    if compiled := find(key):
        return compiled
    module = lowered(module, seconds)
    preset = preset or preset_for(module)
    enter_stage("compile")
    compiled = Compiled(
        compile_for(module, target, PRESETS[preset].options), has_globals(module), preset=preset
    )
    keep(key, compiled, runner, module.name)
    return compiled


def program_key(module: Module, runner: str, target: Target) -> str | None:
    """What the code depends on but for the preset; None where nothing is to be kept."""
    # Options say `host`; what that is belongs to the key.
    options = (*target.options, *target.attributes.values(), processor())
    return cache_key(module, runner, _PACKAGES, options)
