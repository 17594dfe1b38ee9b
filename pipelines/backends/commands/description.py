"""Reads and validates the TOML file that describes a backend as commands."""

from __future__ import annotations

import json
import math
import re
import string
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pipelines.backends.backend import check_tolerances
from unmess.core.errors.error import Error
from unmess.core.options.names import did_you_mean

SCHEMA = Path(__file__).with_name("schema.json")
_HINT = "docs/backends.md describes the file"
_TYPES = {"string": str, "boolean": bool, "array": list, "object": dict, "number": (int, float)}
_NAMES = {"object": "table", "array": "list"}
# The placeholders of each kind of command.
PLACES = ("folder", "python", "packages")
_OF_COMPILE = (*PLACES, "input", "output", "weights")
_OF_RUN = (*PLACES, "output", "inputs", "outputs", "results", "weights")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*=""")
_FUNCTION = re.compile(r"(.+\.py):(\w+)")
_SECTION = re.compile(r"\s*\[([\w.-]+)\]")


@dataclass(frozen=True)
class Description:
    """The content of the file. `schema.json` describes the values.

    Attributes:
        file: the file, an absolute path.
        compile: the commands that compile, none if {output} is the IR.
        digest: text that is different for different descriptions.
        where: the file and line of `compile` and `run`.
    """

    file: Path
    name: str
    about: str
    compile: tuple[tuple[str, ...], ...]
    run: tuple[str, ...]
    version: tuple[str, ...] | None
    digest: str
    where: dict[str, str]
    stage: str = "linalg"
    weights: str = "arguments"
    fold_constants: bool = False
    upstream_only: bool = False
    passes: tuple[str, ...] = ()
    format: str = "text"
    locations: bool = False
    tensors: str = "npy"
    timeout: float = 60.0
    compile_timeout: float = 300.0
    memory_mb: float | None = None
    file_mb: float = 20_000.0
    environment: dict[str, str] = field(default_factory=dict)
    exit_codes: dict[str, str] = field(default_factory=dict)
    tolerances: dict[str, float] = field(default_factory=dict)


def read_description(file: Path) -> Description:
    """Returns the content of a TOML file.

    Raises:
        Error: stage `usage`, with the line, if the file cannot be read or a value is wrong.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8"
        raise Error("usage", f"cannot read {file}: {reason}", hint=_HINT) from problem
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        line = re.search(r"line (\d+)", str(problem))
        where = f"{file}:{line[1]}" if line else str(file)
        raise Error("usage", f"{file} is not TOML: {problem}", where=where, hint=_HINT) from problem
    reader = _Reader(file, text)
    reader.check(content, schema(), ())
    return reader.description(content)


@cache
def schema() -> dict[str, Any]:
    """Returns the JSON schema of the file."""
    return json.loads(SCHEMA.read_text())


class _Reader:
    """Validates the content of one file."""

    def __init__(self, file: Path, text: str):
        self._file = file
        self._lines = text.splitlines()

    def check(self, value: Any, wanted: dict[str, Any], path: tuple[str, ...]) -> None:
        """Validates a value by the part of the schema that describes it."""
        if "anyOf" in wanted:
            if not any(self._has_type(value, each) for each in wanted["anyOf"]):
                raise self._wrong(path, f"is {value!r}, expected {_kinds(wanted['anyOf'])}")
            wanted = next(each for each in wanted["anyOf"] if self._has_type(value, each))
        if not self._has_type(value, wanted):
            hint = _HINT
            if wanted["type"] == "array" and isinstance(value, str):
                hint = f"{path[-1]} = {json.dumps(value.split())}"
            raise self._wrong(path, f"is {value!r}, expected a {_kind(wanted)}", hint)
        if "enum" in wanted and value not in wanted["enum"]:
            hint = did_you_mean(value, wanted["enum"], f"one of {', '.join(wanted['enum'])}")
            raise self._wrong(path, f"is {value!r}", hint)
        if isinstance(value, float) and not math.isfinite(value):
            raise self._wrong(path, f"is {value}, expected a finite number")
        if "exclusiveMinimum" in wanted and not value > wanted["exclusiveMinimum"]:
            raise self._wrong(path, f"is {value}, expected more than {wanted['exclusiveMinimum']}")
        if isinstance(value, list):
            for each in value:
                self.check(each, wanted["items"], path)
        if isinstance(value, dict):
            self._check_table(value, wanted, path)

    def _check_table(self, value: dict, wanted: dict[str, Any], path: tuple[str, ...]) -> None:
        known = wanted.get("properties", {})
        others = wanted.get("additionalProperties")
        for key, item in value.items():
            if key in known:
                self.check(item, known[key], (*path, key))
            elif isinstance(others, dict):
                self.check(item, others, (*path, key))
            else:
                names = did_you_mean(key, list(known), f"one of {', '.join(known)}")
                hint = _place_of(key) or names
                raise self._wrong((*path, key), "is unknown", hint)
        for key in wanted.get("required", ()):
            if key not in value:
                raise Error(
                    "usage",
                    f"{self._file} has no value {key}",
                    where=str(self._file),
                    hint='run = ["my-run", "{output}", "{inputs}", "{outputs}"]',
                )

    @staticmethod
    def _has_type(value: Any, wanted: dict[str, Any]) -> bool:
        kind = wanted["type"]
        if isinstance(value, bool) and kind != "boolean":
            return False
        return isinstance(value, _TYPES[kind])

    def description(self, content: dict[str, Any]) -> Description:
        """Returns the validated content."""
        commands = content.pop("compile", [])
        if commands and all(isinstance(word, str) for word in commands):
            commands = [commands]
        if not all(isinstance(command, list) for command in commands):
            raise self._wrong(("compile",), "mixes words and commands")
        run = content.pop("run")
        for command in commands:
            self._check_command(("compile",), command, _OF_COMPILE)
        self._check_command(("run",), run, _OF_RUN)
        if "version" in content:
            self._check_command(("version",), content["version"], PLACES)
        for name, value in content.get("environment", {}).items():
            self._check_places(("environment", name), value, PLACES)
        for dtype, value in content.get("tolerances", {}).items():
            try:
                check_tolerances({dtype: value}, str(self._file))
            except Error as problem:
                raise self._wrong(("tolerances", dtype), f"is {value}", problem.hint) from problem
        if not content.get("name", self._file.stem).strip():
            raise self._wrong(("name",), "is empty")
        whole = json.dumps([content, commands, run], sort_keys=True)
        own = content.pop("input", {})
        if own.get("upstream_only") and own.get("stage", "linalg") != "linalg":
            raise self._wrong(("input", "upstream_only"), "is for stage linalg only")
        if content.get("tensors") == "printed" and own.get("stage", "linalg") != "linalg":
            raise self._wrong(("tensors",), "is 'printed', which is for stage linalg only")
        if content.get("tensors") == "printed" and own.get("weights") == "external":
            raise self._wrong(("tensors",), "is 'printed': weights must be inline or arguments")
        if own.get("weights") != "external":
            for key, command in (*(("compile", each) for each in commands), ("run", run)):
                if any("{weights}" in word for word in command):
                    hint = 'add weights = "external" to the table [input]'
                    raise self._wrong((key,), "has {weights}, but weights are not external", hint)
        version = content.pop("version", None)
        passes = tuple(map(self._beside, own.pop("passes", ())))
        return Description(
            file=self._file.resolve(),
            name=content.pop("name", self._file.stem),
            about=content.pop("about", ""),
            compile=tuple(map(tuple, commands)),
            run=tuple(run),
            version=None if version is None else tuple(version),
            digest=whole,
            where={key: f"{self._file}:{self._line((key,))}" for key in ("compile", "run")},
            passes=passes,
            **own,
            **content,
        )

    def _beside(self, own_pass: str) -> str:
        """Returns a pass. Resolves the file of a Python function from the description's folder."""
        match = _FUNCTION.fullmatch(own_pass)
        if not match:
            return own_pass
        return f"{self._file.resolve().parent / Path(match[1]).expanduser()}:{match[2]}"

    def _check_command(
        self, path: tuple[str, ...], command: list[str], places: tuple[str, ...]
    ) -> None:
        if not command:
            raise self._wrong(path, "is an empty command")
        for word in command:
            self._check_places(path, word, places)

    def _check_places(self, path: tuple[str, ...], word: str, places: tuple[str, ...]) -> None:
        """Checks that `word.format` has a value for each name in braces."""
        try:
            fields = list(string.Formatter().parse(word))
        except ValueError as problem:
            raise self._wrong(
                path, f"has {word!r}: {problem}", "a brace that is text is doubled: {{ }}"
            ) from problem
        for _, name, form, conversion in fields:
            if name is None:
                continue
            if form or conversion:
                raise self._wrong(path, f"has {word!r}: {{{name}}} takes no format")
            if name not in places:
                known = ", ".join(f"{{{place}}}" for place in places)
                raise self._wrong(
                    path,
                    f"has the unknown place {{{name}}} in {word!r}",
                    f"one of {known}; a brace that is text is doubled: {{{{ }}}}",
                )

    def _wrong(self, path: tuple[str, ...], problem: str, hint: str = _HINT) -> Error:
        where = f"{self._file}:{self._line(path)}"
        return Error("usage", f"{'.'.join(path) or self._file} {problem}", where=where, hint=hint)

    def _line(self, path: tuple[str, ...]) -> int:
        """Returns the line of a value, counted from 1."""
        section, found = "", 1
        for number, line in enumerate(self._lines, 1):
            if match := _SECTION.match(line):
                section = match[1]
                if section == ".".join(path):
                    return number
            elif (match := _KEY.match(line)) and match[1] == path[-1:][0]:
                if section == ".".join(path[:-1]):
                    return number
                found = number
            elif path[:1] and re.match(rf"\s*{re.escape(path[0])}\s*=.*\b{path[-1]}\b", line):
                found = number
        return found


def _place_of(key: str) -> str | None:
    """Returns a hint about the table that a key belongs to; None if there is no such key."""
    properties = schema()["properties"]
    if key in properties:
        return f"{key} belongs above the first table, such as [input]"
    tables = [name for name in properties if key in properties[name].get("properties", {})]
    return f"{key} belongs to the table [{tables[0]}]" if tables else None


def _kind(wanted: dict[str, Any]) -> str:
    return _NAMES.get(wanted["type"], wanted["type"])


def _kinds(wanted: list[dict[str, Any]]) -> str:
    return " or ".join(f"a {_kind(each)}" for each in wanted)
