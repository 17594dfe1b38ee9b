"""What a runner made of a program, and how it is kept between processes."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from pipelines.debugging import is_debugging
from unmess.core import artifacts
from unmess.core.check import Check
from unmess.core.module import Module
from unmess.core.note import Note
from unmess.core.own_sources import digest_of

# Everything of ours that decides what a program becomes.
_SOURCES = digest_of("pipelines", "unmess/core")


@dataclass(frozen=True)
class Compiled:
    """A program without its IR.

    Attributes:
        code: object code of the reference runner, a VM module of IREE.
        has_globals: whether it changes memory of its own when it runs (a seed of random numbers).
        checks: the run-time checks, by their number in the code.
        preset: the name of the set of options that it was compiled with, where there are several.
        packer: code that makes of the weights what the program reads, where it does not read the
            weights themselves.
        notes: what was to be done to the program and could not be.
    """

    code: bytes
    has_globals: bool
    checks: tuple[Check, ...] = ()
    preset: str | None = None
    packer: bytes | None = None
    notes: tuple[Note, ...] = ()


def cache_key(
    module: Module, runner: str, packages: Sequence[str], target: Sequence[object]
) -> str | None:
    """What the code for a module depends on, as one name; None where nothing is to be kept.

    It is made of the IR as it is, at whatever stage, so that one that is found there need not be
    lowered. The IR goes in with its source locations, since those of run-time checks are part of
    the result. Weights are in it only where they are literals of the IR.

    Args:
        packages: that compile; their versions count, and all sources of `pipelines`.
        target: what else decides on the code: options, the processor, the number of threads.
    """
    if is_debugging() or not artifacts.size_limit():
        return None
    arguments = {
        entry: [(argument.kind, argument.name) for argument in signature.arguments]
        for entry, signature in module.entries.items()
    }
    versions = [importlib.metadata.version(package) for package in packages]
    about = [runner, *map(str, target), module.stage, arguments, versions, _SOURCES]
    return hashlib.sha256(json.dumps([*about, module.digest()]).encode()).hexdigest()


def find(key: str | None) -> Compiled | None:
    """What was kept under a key."""
    content = None if key is None else artifacts.read_artifact(key)
    if content is None:
        return None
    about, code = content.split(b"\n", 1)
    fields = json.loads(about)
    size = fields.pop("packer")
    if size is not None:
        fields["packer"], code = code[:size], code[size:]
    fields["checks"] = tuple(Check(**check) for check in fields["checks"])
    fields["notes"] = tuple(Note(**note) for note in fields["notes"])
    return Compiled(code, **fields)


def keep(key: str | None, compiled: Compiled, runner: str, model: str) -> None:
    """Makes `find` find it, in other processes too."""
    if key is None:
        return
    fields = asdict(compiled)
    code, packer = fields.pop("code"), fields.pop("packer")
    fields["packer"] = None if packer is None else len(packer)
    content = json.dumps(fields).encode() + b"\n" + (packer or b"") + code
    artifacts.write_artifact(key, content, runner=runner, model=model)


def lowered(module: Module, seconds: dict[str, float], unchecked: bool) -> Module:
    """The module at stage `linalg`, with its indices checked; the given one stays as it is.

    Args:
        seconds: the time that it takes is added to, under `lower`.
        unchecked: leave the checks of indices out.

    Raises:
        Error: the stage that failed.
    """
    # The passes take long to import, and a program from the cache needs none.
    from pipelines.indices.checking import check_indices
    from pipelines.indices.stablehlo import check_stablehlo_indices
    from pipelines.ir_modules import copy_module

    copy = replace(module, ir=copy_module(module.ir), seconds=seconds)
    if unchecked:
        return lower(copy, "linalg")
    if copy.stage == "stablehlo":
        check_stablehlo_indices(copy.ir)
    lower(copy, "linalg")
    check_indices(copy.ir)
    return copy


def stablehlo_for_iree(module: Module, unchecked: bool) -> Module:
    """The module, at stage `stablehlo`, as IREE takes it; the given one stays as it is.

    Indices of captured programs are checked, unless `unchecked`. Programs of other tools are
    prepared.

    Raises:
        Error: stage `compile`, for a program of another tool that cannot be prepared.
    """
    from pipelines.indices.stablehlo import check_stablehlo_indices
    from pipelines.ir_modules import copy_module
    from pipelines.stablehlo.origin import is_foreign
    from pipelines.stablehlo.stages import for_iree

    copy = replace(module, ir=copy_module(module.ir))
    if is_foreign(copy.ir):
        for_iree(copy.ir, copy.name)
    elif not unchecked:
        check_stablehlo_indices(copy.ir)
    return copy


def lower(module: Module, to: str) -> Module:
    """`pipelines.lower.lower`, whose passes are imported when something is to be lowered."""
    from pipelines.lower import lower as lower_module

    return lower_module(module, to)


def has_globals(module: Module) -> bool:
    """Whether a program at an exit changes memory of its own."""
    from pipelines.ir_modules import find_operations

    names = ("ml_program.global", "stablehlo.rng")
    return bool(find_operations(module.ir, lambda operation: operation.name in names))
