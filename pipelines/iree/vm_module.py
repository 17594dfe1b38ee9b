"""From a program to a VM module, by way of the cache where it can be."""

from __future__ import annotations

from pipelines.compiled import Compiled, cache_key, find, has_globals, keep, lowered
from pipelines.iree.compiler import compile_for
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
    # Options say `host`; what that is belongs to the key.
    options = (*target.options, *target.attributes.values(), processor())
    key = cache_key(module, runner, _PACKAGES, options)
    if compiled := find(key):
        return compiled
    module = lowered(module, seconds)
    enter_stage("compile")
    compiled = Compiled(compile_for(module, target), has_globals(module))
    keep(key, compiled, runner, module.name)
    return compiled
