"""Compiled programs between processes, by the content of their IR."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from pipelines.reference.schedules.machine import processor
from pipelines.reference.steps.assertions import Check
from unmess.core.artifacts import read_artifact, size_limit, write_artifact
from unmess.core.module import Module

_SOURCES = Path(__file__).resolve().parents[2]


def _compiler() -> str:
    """Everything besides the program and the processor that decides what code there will be."""
    digest = hashlib.sha256(importlib.metadata.version("torch-mlir").encode())
    for path in sorted(_SOURCES.rglob("*")):
        if path.suffix in (".py", ".mlir"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


# Read with the sources themselves, so that it is theirs where they are changed meanwhile.
_COMPILER = _compiler()


@dataclass(frozen=True)
class Compiled:
    """Object code and what is needed to call it.

    Attributes:
        object_code: a relocatable file.
        checks: the run-time checks, by their number in the code.
    """

    object_code: bytes
    checks: tuple[Check, ...]


def compiled_key(module: Module) -> str | None:
    """What the code for a module depends on, as one name; None where nothing is to be kept.

    The IR is in it with its source locations, since those of run-time checks are part of the
    result; so are the entry points, the processor, the number of threads, and everything that
    compiles. Weights are in it only where they are literals of the IR.
    """
    if not size_limit():
        return None
    digest = hashlib.sha256()
    about = [list(module.entries), processor(), torch.get_num_threads(), _COMPILER]
    digest.update(json.dumps(about).encode())
    module.ir.operation.write_bytecode(_Digested(digest))
    return digest.hexdigest()


def find(key: str) -> Compiled | None:
    """What was kept under a key."""
    content = read_artifact(key)
    if content is None:
        return None
    about, object_code = content.split(b"\n", 1)
    return Compiled(object_code, tuple(Check(**check) for check in json.loads(about)))


def keep(key: str, compiled: Compiled) -> None:
    """Makes `find` find it, in other processes too."""
    about = json.dumps([asdict(check) for check in compiled.checks])
    write_artifact(key, about.encode() + b"\n" + compiled.object_code)


class _Digested:
    """A file that is not kept."""

    def __init__(self, digest) -> None:
        self.write = digest.update
