"""Parses a module with upstream MLIR, in a separate process that never loads torch-mlir.

The native libraries of both have the same symbol names, and a parser may crash on IR that it does
not support. Reads a JSON document from stdin and writes one to stdout: see `Request` and `main`.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TypedDict

from unmess.core.ir.lazy_numpy import import_bindings

ir = import_bindings("mlir.ir")

# An operation in generic form, and its indentation: a diagnostic may point after its regions.
_OPERATION = re.compile(r'^(\s*)(?:%\S.*? = )?"([\w.$-]+)"\(')
_VERIFIED = re.compile(r"(?:unregistered operation )?'([\w.$-]+)' (?:op|found in dialect) ")
# MLIR's file name for text that is not from a file.
_UNNAMED = "-"
# The beginning of a dialect's attribute or type.
_SIGILS = "#!"
_PART = re.compile(r"[#!][\w$]+\.[\w$.]+")
# Prefix for names that upstream has in another form. Renamed, they no longer stop the parser.
_SET_ASIDE = "set_aside."
# Errors that only occur because a nested or enclosing operation was renamed.
_CONSEQUENCE = re.compile(rf"'{re.escape(_SET_ASIDE)}|expect(?:s|ed) parent op")


class Request(TypedDict):
    """The JSON document on stdin.

    Attributes:
        module: the module as the user would pass it on, text or bytecode, in base64.
        generic: its generic form, with locations; None to check only `module`.
    """

    module: str
    generic: str | None


def main() -> None:
    """Writes an answer with `problem`, `found`, `attributes` and `unread`.

    `problem`: the first error, null if the module parses and verifies. `found`: the parts that
    upstream does not know, each with `kind`, `name`, `dialect`, `count`, `location` of the first
    and `problem`. `attributes`: how often each known operation has each attribute. `unread`: why
    the generic form could not be parsed, else null.
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
        return "MLIR rejects the file without an error message"
    # Drop the advice to allow unregistered dialects.
    return diagnostics[0].message.split(". If this is intended")[0].strip()


def _tolerant(text: str) -> dict:
    """Parses the generic form, allows unknown operations, and renames those that are rejected."""
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
    """Returns the text with this name moved to an unregistered dialect."""
    if name[0] in _SIGILS:
        return re.sub(rf"{re.escape(name)}\b", f"{name[0]}{_SET_ASIDE}{name[1:]}", text)
    return text.replace(f'"{name}"(', f'"{_SET_ASIDE}{name}"(')


def _culprits(text: str, problem: ir.MLIRError) -> Iterator[str]:
    """Yields the names that diagnostics may be about: the operation, then the attribute or type."""
    lines = text.splitlines()
    for diagnostic in problem.error_diagnostics:
        # Verifier errors name the operation. Parser errors have a position in the text.
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
    """Collects the operations, types and attributes of a module that its context does not know."""

    def __init__(self, context: ir.Context, refused: dict[str, str | None]):
        self._context = context
        self._refused = refused
        self._found: dict[tuple[str, str], dict] = {}
        self._attributes: Counter[str] = Counter()
        self._known: dict[str, bool] = {}

    def of(self, module: ir.Module) -> dict:
        """Returns the answer's `found` and `attributes`."""
        with self._context:
            module.operation.walk(self._visit, ir.WalkOrder.PRE_ORDER)
        return {"found": list(self._found.values()), "attributes": self._attributes}

    def _visit(self, operation: ir.Operation) -> ir.WalkResult:
        # Count each unknown name once per operation.
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
        """Yields unknown types of an operation's values, and unknown parts of its attributes."""
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
        """Returns whether a key is an unknown dialect's attribute name, such as `llvm.noalias`."""
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
    """Returns the name without parameters, such as `torch.vtensor` for tensors of any shape."""
    spelled = re.match(r"[\w.]+", f"{part.dialect_namespace}.{part.data}")[0]
    return spelled.removeprefix(_SET_ASIDE)


def _parts(whole: ir.Attribute | ir.Type) -> Iterator[ir.Attribute | ir.Type | str]:
    """Yields an attribute or type, its nested attributes and types, and keys of dictionaries."""
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
