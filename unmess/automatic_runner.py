"""The runner `auto`: the one that `unmess tune --on auto` found to be the fastest for a program."""

from __future__ import annotations

import hashlib

import torch

from pipelines.backends.table import AUTO
from pipelines.iree.targets import target as target_of
from pipelines.iree.vm_module import program_key
from unmess.core.cache import artifacts
from unmess.core.module.module import Module
from unmess.core.options.target_options import TargetOptions
from unmess.core.program.note import Note
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs

# The runners to choose from. The first one is used for a program without a choice.
CANDIDATES = ("reference", "iree-cpu")


def fastest_runner(
    program: Program | Programs | Module, target: TargetOptions | None
) -> tuple[str, Note]:
    """Returns the runner that is stored for a program, or the default one, and a note about it."""
    key = _key(program if isinstance(program, Module) else program.to_module(), target)
    content = None if key is None else artifacts.read_artifact(key)
    name = None if content is None else content.decode()
    if name in CANDIDATES:
        return name, Note("runner", f"{name}: the fastest one, chosen by `unmess tune`")
    text = f"{CANDIDATES[0]}: no choice is stored; `unmess tune --on {AUTO}` makes one"
    return CANDIDATES[0], Note("runner", text)


def keep_runner(module: Module, target: TargetOptions | None, name: str) -> bool:
    """Stores the runner to use for a program from now on; returns whether it was stored."""
    key = _key(module, target)
    return key is not None and artifacts.write_artifact(
        key, name.encode(), runner=AUTO, model=module.name
    )


def _key(module: Module, target: TargetOptions | None) -> str | None:
    """Returns the key of the choice: it depends on the processor and the number of threads, too."""
    key = program_key(module, AUTO, target_of("iree-cpu", target))
    if key is None:
        return None
    return hashlib.sha256(f"fastest {key} {torch.get_num_threads()}".encode()).hexdigest()
