"""What upstream MLIR makes of a module: a process of its own, which never loads torch-mlir.

Both are native code with symbols of the same names, and a parser may crash on what it was not
written for. Reads a JSON document from stdin, writes one to stdout: see `Request` and `main`.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TypedDict

from mlir import ir

# An operation in generic form, and its indentation: a diagnostic may point behind its regions.
_OPERATION = re.compile(r'^(\s*)(?:%\S.*? = )?"([\w.$-]+)"\(')
_VERIFIED = re.compile(r"(?:unregistered operation )?'([\w.$-]+)' (?:op|found in dialect) ")
# What MLIR calls text that comes from no file.
_UNNAMED = "-"
# The beginning of a dialect's attribute or type.
_SIGILS = "#!"
_PART = re.compile(r"[#!][\w$]+\.[\w$.]+")
# Put before the name of what upstream knows in another form, so that the rest is read.
_SET_ASIDE = "set_aside."
# What is said of an operation only since what is in it, or what it is in, has been set aside.
_CONSEQUENCE = re.compile(rf"'{re.escape(_SET_ASIDE)}|expect(?:s|ed) parent op")


class Request(TypedDict):
    """What stdin has.

    Attributes:
        module: the module as it would be handed over, text or bytecode, in base64.
        generic: its generic form, with locations; None where the first answer is enough.
    """

    module: str
    generic: str | None


def main() -> None:
    """Writes `problem` (null where the module parses and verifies), `found` and `attributes`.

    `found`: what upstream does not know, each with `kind`, `name`, `dialect`, `count`, `location`
    of the first and `problem`. `attributes`: how often each known operation has each attribute.
    `unread`: why the generic form could not be looked through, else null.
    """
    request: Request = json.load(sys.stdin)
    problem = _strict(base64.b64decode(request["module"]))
    answer: dict = {"problem": problem, "found": [], "attributes": {}, "unread": None}
    if request["generic"] is not None:
        answer |= _tolerant(request["generic"])
    json.dump(answer, sys.stdout)


def _context() -> ir.Context:
    context = ir.Context()
    context.emit_error_diagnostics = False
    return context


def _strict(module: bytes) -> str | None:
    with _context():
        try:
            ir.Module.parse(module)
        except ir.MLIRError as problem:
            return _message(problem)
    return None


def _message(problem: ir.MLIRError) -> str:
    diagnostics = problem.error_diagnostics
    if not diagnostics:
        return "it does not parse, without a message"
    # Without the advice to allow unregistered dialects.
    return diagnostics[0].message.split(". If this is intended")[0].strip()


def _tolerant(text: str) -> dict:
    """Reads the generic form with unknown operations in it, setting aside what is refused."""
    refused: dict[str, str | None] = {}
    while True:
        with _context() as context:
            context.allow_unregistered_dialects = True
            try:
                module = ir.Module.parse(text)
            except ir.MLIRError as problem:
                culprits = (name for name in _culprits(text, problem) if name not in refused)
                name = next(culprits, None)
                if name is None:
                    return {"unread": _message(problem)}
                message = _message(problem)
                refused[name] = None if _CONSEQUENCE.search(message) else message
                text = _without(name, text)
                continue
            return _Survey(context, refused).of(module)


def _without(name: str, text: str) -> str:
    """The text with what has this name in a dialect that nobody knows."""
    if name[0] in _SIGILS:
        return re.sub(rf"{re.escape(name)}\b", f"{name[0]}{_SET_ASIDE}{name[1:]}", text)
    return text.replace(f'"{name}"(', f'"{_SET_ASIDE}{name}"(')


def _culprits(text: str, problem: ir.MLIRError) -> Iterator[str]:
    """The names of what a diagnostic may be about: the operation, then the attribute or type."""
    lines = text.splitlines()
    for diagnostic in problem.error_diagnostics:
        # A verifier names the operation, and has its location; a parser has the place in the text.
        if match := _VERIFIED.match(diagnostic.message):
            yield match[1].removeprefix(_SET_ASIDE)
        location = diagnostic.location
        if not location.is_a_file() or location.filename != _UNNAMED:
            continue
        line = lines[location.start_line - 1]
        indentation = len(line) - len(line.lstrip())
        for candidate in reversed(lines[: location.start_line]):
            match = _OPERATION.match(candidate)
            if match and len(match[1]) == indentation:
                yield match[2].removeprefix(_SET_ASIDE)
                break
        if before := _PART.findall(line[: location.start_col - 1]):
            yield before[-1].replace(_SET_ASIDE, "")


class _Survey:
    """Goes through a module and notes what its context does not know."""

    def __init__(self, context: ir.Context, refused: dict[str, str | None]):
        self._context = context
        self._refused = refused
        self._found: dict[tuple[str, str], dict] = {}
        self._attributes: Counter[str] = Counter()
        self._known: dict[str, bool] = {}

    def of(self, module: ir.Module) -> dict:
        """The answer's `found` and `attributes`."""
        with self._context:
            module.operation.walk(self._visit, ir.WalkOrder.PRE_ORDER)
        return {"found": list(self._found.values()), "attributes": self._attributes}

    def _visit(self, operation: ir.Operation) -> ir.WalkResult:
        # Each once, however often the operation has it.
        unknown = dict.fromkeys([*self._itself(operation), *self._carried(operation)])
        for kind, name in unknown:
            entry = self._found.setdefault(
                (kind, name),
                {
                    "kind": kind,
                    "name": name,
                    "dialect": name.lstrip(_SIGILS).split(".")[0],
                    "count": 0,
                    "location": str(operation.location),
                    "problem": self._refused.get(name),
                },
            )
            entry["count"] += 1
        return ir.WalkResult.ADVANCE

    def _itself(self, operation: ir.Operation) -> Iterator[tuple[str, str]]:
        name = operation.name
        if name.startswith(_SET_ASIDE):
            name = name.removeprefix(_SET_ASIDE)
            if self._refused[name]:
                yield "operation", name
        elif not self._context.is_registered_operation(name):
            yield "operation", name
        else:
            self._attributes.update(f"{name} {key}" for key in operation.attributes)

    def _carried(self, operation: ir.Operation) -> Iterator[tuple[str, str]]:
        """The unknown types of its values, and what is unknown in its attributes."""
        values = [
            *operation.operands,
            *operation.results,
            *(a for region in operation.regions for block in region for a in block.arguments),
        ]
        wholes = [value.type for value in values]
        for key in operation.attributes:
            wholes.append(operation.attributes[key])
            if self._is_foreign(key):
                yield "attribute name", key
        for part in (part for whole in wholes for part in _parts(whole)):
            if isinstance(part, ir.OpaqueType):
                yield "type", f"!{_spelled(part)}"
            elif isinstance(part, ir.OpaqueAttr):
                yield "attribute", f"#{_spelled(part)}"
            elif isinstance(part, str) and self._is_foreign(part):
                yield "attribute name", part

    def _is_foreign(self, key: str) -> bool:
        """Whether a dialect that is unknown puts it on operations, as `llvm.noalias` is put."""
        return "." in key and not self._is_known(key.split(".")[0])

    def _is_known(self, dialect: str) -> bool:
        if dialect not in self._known:
            try:
                self._context.get_dialect_descriptor(dialect)
                self._known[dialect] = True
            except ValueError:
                self._known[dialect] = False
        return self._known[dialect]


def _spelled(part: ir.OpaqueAttr | ir.OpaqueType) -> str:
    """Without what it is given: `torch.vtensor` for one of any shape."""
    spelled = re.match(r"[\w.]+", f"{part.dialect_namespace}.{part.data}")[0]
    return spelled.removeprefix(_SET_ASIDE)


def _parts(whole: ir.Attribute | ir.Type) -> Iterator[ir.Attribute | ir.Type | str]:
    """An attribute or type, what is in it, and the keys of its dictionaries."""
    yield whole
    if isinstance(whole, ir.ArrayAttr):
        inner = list(whole)
    elif isinstance(whole, ir.DictAttr):
        inner = [named.attr for named in whole]
        yield from (named.name for named in whole)
    elif isinstance(whole, ir.TypeAttr):
        inner = [whole.value]
    elif isinstance(whole, ir.FunctionType):
        inner = [*whole.inputs, *whole.results]
    elif isinstance(whole, ir.RankedTensorType):
        inner = [whole.element_type, *([whole.encoding] if whole.encoding else [])]
    else:
        inner = []
    for each in inner:
        yield from _parts(each)


if __name__ == "__main__":
    main()
