"""Compiled programs, and the cache that keeps them between processes."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from pipelines.debugging import is_debugging
from pipelines.rearranged import Rearranged
from unmess.core.cache import artifacts
from unmess.core.cache.own_sources import digest_of
from unmess.core.errors.check import Check
from unmess.core.module.module import Module
from unmess.core.program.note import Note

# Digest of all project sources that affect compilation.
_SOURCES = digest_of("pipelines", "unmess/core")


@dataclass(frozen=True)
class Compiled:
    """A compiled program, without its IR.

    Attributes:
        code: object code of the reference runner, or a VM module of IREE.
        has_globals: whether it changes memory of its own when it runs (a seed of random numbers).
        checks: the run-time checks, by their number in the code.
        preset: the compiler preset; None for runners without presets.
        rearranged: weights that the program reads in another order of elements.
        packer: code that converts the weights, with the rearranged ones, to the program's own
            format; None if the program reads them directly.
        workspaces: for each entry function of the reference runner, the bytes of memory for
            temporaries that its caller passes.
        notes: differences from the chosen options, such as a preset that failed.
    """

    code: bytes
    has_globals: bool
    checks: tuple[Check, ...] = ()
    preset: str | None = None
    rearranged: tuple[Rearranged, ...] = ()
    packer: bytes | None = None
    workspaces: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @property
    def packs(self) -> bool:
        """Whether weights are converted when the program is loaded."""
        return self.packer is not None or bool(self.rearranged)


def is_caching() -> bool:
    """Returns whether compiled code is read from the cache and stored there."""
    return not is_debugging() and artifacts.size_limit() > 0


def cache_key(
    module: Module, runner: str, packages: Sequence[str], target: Sequence[object]
) -> str | None:
    """Returns the cache key of a module, or None if the result is not to be cached.

    The key covers everything that the code depends on. It includes the IR at its current stage, so
    a cached module need not be lowered. It includes source locations, because those of run-time
    checks are part of the result. Names replace the folders of the project and of the environment
    in them, so that checkouts share results. It covers weights only if they are literals of the IR.

    Args:
        packages: packages that compile. The key covers their versions, and the project's sources.
        target: other inputs of the compilation: options, the processor, the number of threads.
    """
    if not is_caching():
        return None
    arguments = {
        entry: [(argument.kind, argument.name) for argument in signature.arguments]
        for entry, signature in module.entries.items()
    }
    versions = [importlib.metadata.version(package) for package in packages]
    about = [runner, *map(str, target), module.stage, arguments, versions, _SOURCES]
    return hashlib.sha256(json.dumps([*about, module.digest()]).encode()).hexdigest()


def find(key: str | None) -> Compiled | None:
    """Returns the compiled program with a key from the cache; None if there is none."""
    content = None if key is None else artifacts.read_artifact(key)
    if content is None:
        return None
    about, code = content.split(b"\n", 1)
    fields = json.loads(about)
    size = fields.pop("packer")
    if size is not None:
        fields["packer"], code = code[:size], code[size:]
    fields["checks"] = tuple(Check(**check) for check in fields["checks"])
    fields["rearranged"] = tuple(
        Rearranged(**{key: _tuple(value) for key, value in each.items()})
        for each in fields["rearranged"]
    )
    fields["notes"] = tuple(Note(**note) for note in fields["notes"])
    return Compiled(code, **fields)


def _tuple(value: str | list[int]) -> str | tuple[int, ...]:
    return tuple(value) if isinstance(value, list) else value


def keep(key: str | None, compiled: Compiled, runner: str, model: str) -> None:
    """Stores a compiled program for `find`, in this and other processes."""
    if key is None:
        return
    fields = asdict(compiled)
    code, packer = fields.pop("code"), fields.pop("packer")
    fields["packer"] = None if packer is None else len(packer)
    content = json.dumps(fields).encode() + b"\n" + (packer or b"") + code
    artifacts.write_artifact(key, content, runner=runner, model=model)


def lowered(module: Module, seconds: dict[str, float], unchecked: bool) -> Module:
    """Returns a copy of the module, lowered to `linalg`, with checks of its indices.

    Args:
        seconds: the lowering time is added to `seconds["lower"]`.
        unchecked: omit the checks of indices.

    Raises:
        Error: with the stage that failed.
    """
    # The passes take long to import, and cached programs do not need them.
    from pipelines.indices.checking import CHECK_INDICES
    from pipelines.indices.stablehlo import CHECK_STABLEHLO_INDICES
    from pipelines.ir.modules import copy_module

    copy = replace(module, ir=copy_module(module.ir), seconds=seconds)
    if unchecked:
        return lower(copy, "linalg")
    if copy.stage == "stablehlo":
        CHECK_STABLEHLO_INDICES.apply(copy.ir)
    lower(copy, "linalg")
    CHECK_INDICES.apply(copy.ir)
    return copy


def lower(module: Module, to: str) -> Module:
    """Calls `pipelines.lower.lower`. Imports its passes only when it is called."""
    from pipelines.lower import lower as lower_module

    return lower_module(module, to)


def has_globals(module: Module) -> bool:
    """Returns whether a program in an output dialect changes memory of its own."""
    from pipelines.ir.modules import find_operations

    names = ("ml_program.global", "stablehlo.rng")
    return bool(find_operations(module.ir, lambda operation: operation.name in names))
