"""The identity of the tools of a description, for the keys of caches and for reports."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from pipelines.backends.commands.description import Description
from unmess.core.errors.error import Error

_VERSION_SECONDS = 20.0
_SEPARATORS = re.compile(r"[\s=,;:'\"(){}]+")


def places(description: Description) -> dict[str, str]:
    """Returns the values of the placeholders that every command may have."""
    return {
        "folder": str(description.file.parent),
        "python": sys.executable,
        "packages": sysconfig.get_paths()["purelib"],
    }


def all_places(description: Description) -> dict[str, str]:
    """Returns the values of all placeholders; empty for those of one compilation or run."""
    names = ("input", "output", "inputs", "outputs", "results", "weights")
    of_call = dict.fromkeys(names, "")
    return of_call | places(description)


def environment(description: Description) -> dict[str, str]:
    """Returns the environment of the commands.

    The programs of the Python environment come first in `PATH`, so that the tools are found without
    an activated environment.
    """
    known = places(description)
    own = {name: value.format(**known) for name, value in description.environment.items()}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, **own}


def filled(word: str, values: dict[str, str], folder: Path) -> str:
    """Returns a word of a command with its placeholders filled.

    A relative path that has a slash becomes absolute if it names a file in the description's
    folder.
    """
    text = word.format(**values)
    # The value of an option may be a path, too.
    option, equals, path = text.partition("=") if text.startswith("-") else ("", "", text)
    if "/" in path and not path.startswith("/") and os.path.isfile(folder / path):
        return f"{option}{equals}{folder / path}"
    return text


def identity(description: Description) -> str:
    """Returns a digest of everything that is known to affect what the commands do.

    It covers the description, its folder, the values of its variables, the files that the commands
    and `passes` name, and the version that the tool prints.
    """
    known = all_places(description)
    variables = environment(description)
    words = [word for command in (*description.compile, description.run) for word in command]
    folder = description.file.parent
    digest = hashlib.sha256(description.digest.encode())
    own = {name: variables[name] for name in description.environment}
    digest.update(json.dumps([description.name, places(description), own]).encode())
    programs = {command[0] for command in (*description.compile, description.run)}
    texts = {word: filled(word, known, folder) for word in words}
    # A variable may name a library to load.
    for word, text in (*texts.items(), *own.items()):
        for place in _places_in(text):
            found = None
            # A text with spaces may be a command for a shell.
            if word in programs or (place != text and " " in text):
                found = shutil.which(place, path=variables["PATH"])
            digest.update(f"{word} {_content(found or place)}\n".encode())
    for own_pass in description.passes:
        file = own_pass.rpartition(":")[0]
        digest.update(f"{own_pass} {_content(file)}\n".encode())
    digest.update(version(description).encode())
    return digest.hexdigest()


def _places_in(text: str) -> list[str]:
    """Returns the parts of a text that may be the paths of files, the whole text included.

    A part is the value of an option (--plugin=./mine.so), a word of a command for a shell, an
    option of a pass, or a folder of a search path.
    """
    return list(dict.fromkeys((text, text.partition("=")[2], *_SEPARATORS.split(text))))


def version(description: Description) -> str:
    """Returns what the tool prints as its version; empty if it prints none."""
    command = description.version
    if command is None:
        first = (*description.compile, description.run)[0][0]
        command = (first, "--version")
    known = all_places(description)
    words = tuple(filled(word, known, description.file.parent) for word in command)
    return _output(words, tuple(sorted(environment(description).items())))


@functools.lru_cache(maxsize=64)
def _output(words: tuple[str, ...], variables: tuple[tuple[str, str], ...]) -> str:
    try:
        done = subprocess.run(
            words,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace").strip() if not done.returncode else ""


def _content(place: str) -> str:
    """Returns a digest of a file; empty if a word is not the path of one."""
    try:
        if "/" not in place or not os.path.isfile(place):
            return ""
        status = os.stat(place)
        return _digest(place, status.st_mtime_ns, status.st_size)
    except (OSError, ValueError):
        # A program may be executable, but not readable.
        return ""


@functools.lru_cache(maxsize=256)
def _digest(file: str, _modified: int, _size: int) -> str:
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def check_programs(description: Description) -> None:
    """Raises an Error (`usage`) about the first program of the commands that cannot be started."""
    path, known = environment(description)["PATH"], all_places(description)
    commands = [("compile", command) for command in description.compile]
    for key, (program, *_) in (*commands, ("run", description.run)):
        place = filled(program, known, description.file.parent)
        if "{output}" in program or shutil.which(place, path=path) is not None:
            continue
        problem, hint = "not found", "add its folder to PATH, or write its path in the file"
        if os.path.isfile(place):
            problem, hint = "is not executable", f"chmod +x {place}, or call its interpreter"
        raise Error("usage", f"{program} {problem}", where=description.where[key], hint=hint)
