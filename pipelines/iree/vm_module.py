"""Compiles programs to VM modules, and caches them."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import torch

from pipelines.compiled import (
    Compiled,
    cache_key,
    find,
    has_globals,
    keep,
    lowered,
)
from pipelines.indices.divisions import CHECK_DIVISIONS
from pipelines.indices.sizes import CHECK_SIZES
from pipelines.iree.assertions import JOIN_ASSERTIONS
from pipelines.iree.compilation import TRACE_DISPATCHES
from pipelines.iree.compiler import compile_for, compile_with_packer
from pipelines.iree.lanes import extract_rearranged_weights
from pipelines.iree.loop_dispatch.rewrite import DISPATCH_LOOPS
from pipelines.iree.packed_products import MULTIPLY_PACKED
from pipelines.iree.packing import PACKED
from pipelines.iree.presets import PLAIN, PRESETS, check_fit, preset_for, tuned_preset
from pipelines.iree.targets import Target
from pipelines.iree.weight_files import are_large
from pipelines.linalg_form.float8 import INLINE_FLOAT8_CASTS
from pipelines.rearranged import Rearranged
from unmess.core.errors.error import Error
from unmess.core.module.module import Module
from unmess.core.options.processor import processor
from unmess.core.processes.current_stage import enter_stage
from unmess.core.program.note import Note

_PACKAGES = ("torch-mlir", "iree-base-compiler")


def vm_module(
    module: Module,
    runner: str,
    target: Target,
    seconds: dict[str, float],
    *,
    unchecked: bool = False,
) -> Compiled:
    """Returns the VM module of a program, from the cache or compiled. Weights are parameters.

    The program's IR is not changed.

    Args:
        seconds: the time of lowering is added to it, under `lower`.
        unchecked: omit index checks and assertions.

    Raises:
        Error: the stage that failed, up to `compile`.
    """
    program = program_key(module, runner, target)
    preset = target.preset or tuned_preset(program)
    key = (
        None
        if program is None
        else hashlib.sha256(f"{preset} unchecked={unchecked} {program}".encode()).hexdigest()
    )
    compiled = find(key)
    if compiled is None:
        module = lowered(module, seconds, unchecked)
        CHECK_DIVISIONS.apply(module.ir, unchecked=unchecked)
        if not unchecked:
            CHECK_SIZES.apply(module.ir)
        JOIN_ASSERTIONS.apply(module.ir)
        enter_stage("compile")
        if target.preset is None:
            chosen = preset or preset_for(module)
        else:
            check_fit(target.preset, module)
        module, rearranged = for_iree(module, target)
        if target.preset is None:
            compiled = _with_chosen_preset(module, target, chosen)
        else:
            compiled = _with_preset(module, target, target.preset)
        compiled = replace(compiled, rearranged=rearranged)
        keep(key, compiled, runner, module.name)
    if target.preset is None:
        note = _about_preset(compiled, is_tuned=preset is not None)
        compiled = replace(compiled, notes=(*compiled.notes, note))
    return compiled


def for_iree(module: Module, target: Target) -> tuple[Module, tuple[Rearranged, ...]]:
    """Rewrites casts of 8-bit floats, products with packed weights and small loops for a target.

    Changes the IR in place.

    Returns:
        The module that the compiler takes, and the rearranged weights among its arguments.
    """
    if not target.is_cpu:
        return module, ()
    # torch-mlir does not know the attributes of IREE.
    module.ir.context.allow_unregistered_dialects = True
    INLINE_FLOAT8_CASTS.apply(module.ir)
    MULTIPLY_PACKED.apply(module.ir)
    # A traced program also runs on the interpreter, which does not support dispatches of loops.
    if TRACE_DISPATCHES not in target.options:
        DISPATCH_LOOPS.apply(module.ir)
    return extract_rearranged_weights(module)


def _with_chosen_preset(module: Module, target: Target, preset: str) -> Compiled:
    """Compiles with an automatic preset, or with a simpler one if the compiler fails."""
    try:
        return _with_preset(module, target, preset)
    except Error as problem:
        otherwise = PRESETS[preset].otherwise
        if otherwise is None:
            raise
        note = Note(
            "preset", f"the preset {preset} does not work for this program: {problem.cause}"
        )
        compiled = _with_chosen_preset(module, target, otherwise)
        return replace(compiled, notes=(note, *compiled.notes))


def _about_preset(compiled: Compiled, *, is_tuned: bool) -> Note:
    """Returns the note that says which preset was chosen automatically, and why."""
    preset = PRESETS[compiled.preset]
    if compiled.notes:
        why = "used instead"
    elif is_tuned:
        why = "chosen by `unmess tune`"
    else:
        why = f"chosen because {preset.default}"
    return Note("preset", f"{compiled.preset}: {preset.about}; {why}")


def _with_preset(module: Module, target: Target, preset: str) -> Compiled:
    weights = _weights(module)
    # The compiler's name for the packed weights may clash with the name of a weight.
    if preset == PLAIN or not are_large(weights) or PACKED in weights:
        code, packer = compile_for(module, target, PRESETS[preset]), None
    else:
        code, packer = compile_with_packer(module, target, PRESETS[preset])
    return Compiled(code, has_globals(module), preset=preset, packer=packer)


def program_key(module: Module, runner: str, target: Target) -> str | None:
    """Returns the cache key for all but preset and checks; None if nothing is to be cached."""
    # Options may say `host`, so the key includes the processor.
    options = (*target.options, *target.attributes.values(), processor())
    return cache_key(module, runner, _PACKAGES, options)


def _weights(module: Module) -> dict[str, torch.Tensor]:
    """Returns the weights of a program, without rearranged ones, which are computed from them."""
    names = {a.name for s in module.entries.values() for a in s.of_kind("weight")}
    return {name: tensor for name, tensor in module.weights.items() if name in names}
