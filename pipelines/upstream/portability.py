"""Whether upstream MLIR takes a module, and what in it is unknown there."""

from __future__ import annotations

import base64
import json
import subprocess
from collections import Counter
from dataclasses import dataclass, replace

from torch_mlir import ir

from pipelines.ir_modules import copy_module
from pipelines.upstream.inspector import Inspector
from unmess.core import processes
from unmess.core.error import Error
from unmess.core.module import Module
from unmess.core.recognition import stage_of
from unmess.core.user_source import location_line

_BYTECODE = b"ML\xefR"
# Literals above this number of elements are elided.
_LARGE = 16


@dataclass(frozen=True)
class Unknown:
    """Something that upstream MLIR does not know.

    Attributes:
        kind: `operation`, `type`, `attribute`, `attribute name` (one that a dialect puts on the
            operations of others), or `property` (which upstream would leave out in silence).
        name: as it is spelled in the IR.
        dialect: that it belongs to.
        count: of the operations that it is, or is on.
        where: the first source line, as `file:line`, or None.
        problem: what upstream says about an operation that it knows in another form, or None.
        harmless: whether upstream reads it all the same, and keeps it.
        removable: whether `--to linalg --upstream-only` leaves none of it.
    """

    kind: str
    name: str
    dialect: str
    count: int
    where: str | None
    problem: str | None
    harmless: bool
    removable: bool = False


@dataclass(frozen=True)
class Portability:
    """What upstream MLIR makes of a module.

    Attributes:
        version: of the package that has upstream MLIR.
        problem: the first thing that upstream says against the module, or None where it parses and
            verifies.
        unknown: what it does not know, in the order of the IR.
        removable: whether there is a form of the module that upstream takes.
        remedy: how to get it, or why there is none, as one line; None where none is needed.
    """

    version: str
    problem: str | None
    unknown: tuple[Unknown, ...]
    removable: bool = False
    remedy: str | None = None

    @property
    def ok(self) -> bool:
        """Whether upstream parses and verifies the module, and drops nothing of it."""
        return self.problem is None and all(each.harmless for each in self.unknown)


def examine(
    module: ir.Module,
    given: bytes | None = None,
    name: str = "module",
    inspector: Inspector | None = None,
) -> Portability:
    """Asks the upstream MLIR of the environment, in a process of its own.

    Args:
        module: at any stage; it is left as it is.
        given: the file that the module was read from, text or bytecode; by default its text.
        name: of the model, for reproducers.
        inspector: a process that was started earlier, to save time.

    Raises:
        Error: stage `load`, where the environment has no upstream MLIR.
    """
    found = _ask(module, given, inspector)
    if found.ok:
        return found
    if given is not None and given.startswith(_BYTECODE) and _ask(module, None).ok:
        return replace(found, removable=True, remedy="text in place of bytecode (-o FILE.mlir)")
    # Only modules that upstream does not take need the pipelines, which take 0.2 s to import.
    from pipelines.lower import Changes, lower, plan

    stage = stage_of(module)
    if stage == "torch":
        # It may be as it was imported: what is in the contract already passes through.
        stage = "raw"
    rewritten = Module(name, stage, copy_module(module), None, {})
    try:
        names = [pipeline.name for pipeline, _ in plan(stage, "linalg", Changes())]
        lower(rewritten, "linalg", upstream_only=True)
    except Error as error:
        return replace(found, remedy=error.cause)
    left = _ask(rewritten.ir, None)
    passes = " ".join(f"--pipeline {each}" for each in [*names, "upstream"])
    still = {(each.kind, each.name) for each in left.unknown}
    return replace(
        found,
        unknown=tuple(
            replace(each, removable=(each.kind, each.name) not in still) for each in found.unknown
        ),
        removable=left.ok,
        remedy=f"the result of `unmess-opt {passes}`" if left.ok else left.problem,
    )


def _ask(module: ir.Module, given: bytes | None, inspector: Inspector | None = None) -> Portability:
    if given is None:
        given = _text(module).encode()
    request = {
        "module": base64.b64encode(given).decode(),
        "generic": _text(module, generic=True),
    }
    with inspector or Inspector() as asked:
        version, done = asked.version, asked.ask(request)
    if done.returncode:
        return Portability(version, _crash(done), ())
    answer = json.loads(done.stdout)
    if answer["unread"]:
        # Where it stands in the text is no operation, whose like could be set aside.
        return Portability(version, answer["problem"] or answer["unread"], ())
    unknown = [
        Unknown(
            each["kind"],
            each["name"],
            each["dialect"],
            each["count"],
            location_line(each["location"]),
            each["problem"],
            each["kind"] == "attribute name",
        )
        for each in answer["found"]
    ]
    return Portability(
        version, answer["problem"], (*unknown, *_dropped(module, answer["attributes"]))
    )


def _crash(done: subprocess.CompletedProcess) -> str:
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    how = processes.ending(done.returncode)
    return f"upstream MLIR ends with {how} where it reads the module: {lines[0] if lines else ''}"


def _dropped(module: ir.Module, kept: dict[str, int]) -> list[Unknown]:
    """Attributes of operations that upstream knows, which it has not after reading them."""
    had: Counter[str] = Counter()
    first: dict[str, ir.Location] = {}
    known = {key.split(" ")[0] for key in kept}

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in known:
            for key in operation.attributes:
                had[f"{operation.name} {key}"] += 1
                first.setdefault(f"{operation.name} {key}", operation.location)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return [
        Unknown(
            "property",
            key.replace(" ", "."),
            key.split(".")[0],
            count - kept.get(key, 0),
            location_line(first[key]),
            None,
            harmless=False,
        )
        for key, count in had.items()
        if count > kept.get(key, 0)
    ]


def _text(module: ir.Module, *, generic: bool = False) -> str:
    """With locations; of the large literals of weights, only the types are of interest."""
    return module.operation.get_asm(
        enable_debug_info=True,
        print_generic_op_form=generic,
        large_elements_limit=_LARGE,
        large_resource_limit=_LARGE,
    )
