"""What a runner made of a program, and how it is kept between processes."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from pipelines.debugging import is_debugging
from pipelines.ir_modules import copy_module, find_operations
from pipelines.lower import lower
from unmess.core import artifacts
from unmess.core.error import Error
from unmess.core.module import Module
from unmess.core.note import Note
from unmess.core.own_sources import digest_of

# Everything of ours that decides what a program becomes.
_SOURCES = digest_of("pipelines", "unmess/core")


@dataclass(frozen=True)
class Check:
    """What can fail when a program runs.

    `message` is that of the check, or None for an allocation; `where` is the user's source line.
    """

    message: str | None
    where: str | None

    def error(self, amount: int) -> Error:
        """What the user gets to see, for an allocation of so many bytes."""
        if self.message is None:
            cause = f"out of memory: cannot allocate {amount:,} bytes"
            hint = "eager may need as much: run it on smaller inputs"
        else:
            cause = f"a check in the program failed: {self.message}"
            hint = "an index, a size or a divisor is out of range: compare with the model in eager"
        return Error("run", cause, where=self.where, hint=hint)


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
    digest = hashlib.sha256(json.dumps(about).encode())
    module.ir.operation.write_bytecode(_Digested(digest))
    return digest.hexdigest()


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


def lowered(module: Module, seconds: dict[str, float]) -> Module:
    """The module at stage `linalg`; the one that is given stays as it is.

    Args:
        seconds: the time that it takes is added to, under `lower`.

    Raises:
        Error: the stage that failed.
    """
    copy = replace(module, ir=copy_module(module.ir), seconds=seconds)
    return lower(copy, "linalg")


def has_globals(module: Module) -> bool:
    """Whether a program at an exit changes memory of its own."""
    names = ("ml_program.global", "stablehlo.rng")
    return bool(find_operations(module.ir, lambda operation: operation.name in names))


class _Digested:
    """A file that is not kept."""

    def __init__(self, digest) -> None:
        self.write = digest.update
