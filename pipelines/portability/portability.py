"""Checks whether upstream MLIR accepts a module, and lists the parts that it does not know."""

from __future__ import annotations

import base64
import json
import subprocess
from collections import Counter
from dataclasses import dataclass, replace

from torch_mlir import ir

from pipelines.ir.modules import copy_module
from pipelines.portability.inspector import Inspector
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line
from unmess.core.ir.recognition import stage_of
from unmess.core.module.module import Module
from unmess.core.processes import children

_BYTECODE = b"ML\xefR"
# Literals with more elements than this are elided.
_LARGE = 16


@dataclass(frozen=True)
class Unknown:
    """A part of a module that upstream MLIR does not know.

    Attributes:
        kind: `operation`, `type`, `attribute`, `attribute name` (a dialect's attribute on another
            dialect's operation), or `property` (which upstream drops silently).
        name: its name in the IR.
        dialect: the dialect that it belongs to.
        count: number of operations that are it or have it.
        where: the first source line, as `file:line`, or None.
        problem: upstream's error for an operation that it has in another form, or None.
        harmless: whether upstream parses and keeps it nevertheless.
        removable: whether `--to linalg --upstream-only` removes it.
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
    """The result of reading a module with upstream MLIR.

    Attributes:
        version: name and version of the package of upstream MLIR.
        problem: upstream's first error, or None if the module parses and verifies.
        unknown: the parts that upstream does not know, in the order of the IR.
        removable: whether there is a form of the module that upstream accepts.
        remedy: one line that says how to get it, or why there is none; None if none is needed.
    """

    version: str
    problem: str | None
    unknown: tuple[Unknown, ...]
    removable: bool = False
    remedy: str | None = None

    @property
    def ok(self) -> bool:
        """Whether upstream parses and verifies the module without dropping any part of it."""
        return self.problem is None and all(each.harmless for each in self.unknown)


def examine(
    module: ir.Module,
    given: bytes | None = None,
    name: str = "module",
    inspector: Inspector | None = None,
) -> Portability:
    """Reads a module with the environment's upstream MLIR, in a separate process.

    Args:
        module: a module at any stage. It is not changed.
        given: content of the file of the module, text or bytecode; by default the module's text.
        name: the name of the model, for reproducers.
        inspector: a process that was started earlier, to save time.

    Raises:
        Error: stage `load`, if the environment has no upstream MLIR.
    """
    found = _ask(module, given, inspector)
    if found.ok:
        return found
    if given is not None and given.startswith(_BYTECODE) and _ask(module, None).ok:
        return replace(
            found, removable=True, remedy="write text instead of bytecode (-o FILE.mlir)"
        )
    # Only modules that upstream rejects need the pipelines, which take 0.2 s to import.
    from pipelines.lower import Changes, lower, plan

    stage = stage_of(module)
    if stage == "torch":
        # The module may be raw. One that already meets the backend contract passes unchanged.
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
        # There is no operation at the error position, so nothing can be renamed and tried again.
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
    how = children.ending(done.returncode)
    return f"the upstream MLIR reader ended with {how}: {lines[0] if lines else ''}"


def _dropped(module: ir.Module, kept: dict[str, int]) -> list[Unknown]:
    """Returns attributes of known operations that are missing after upstream has parsed them."""
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
    """Returns the text with locations. Large literals are elided: only their types matter."""
    return module.operation.get_asm(
        enable_debug_info=True,
        print_generic_op_form=generic,
        large_elements_limit=_LARGE,
        large_resource_limit=_LARGE,
    )
