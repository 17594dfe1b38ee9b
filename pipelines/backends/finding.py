"""Finds backends by name, in Python files, and in TOML files."""

from __future__ import annotations

import functools
import hashlib
import importlib
from pathlib import Path

from pipelines.backends.backend import Backend, check_backend
from pipelines.backends.table import BUILT_IN, FILE, REGISTERED, check_runner, installed
from pipelines.user_files import load_attribute
from unmess.core.errors.error import Error, first_line

_HINT = "docs/backends.md describes the protocol unmess.Backend"


def register_backend(backend: Backend) -> Backend:
    """Makes a backend available under its name in this process.

    Args:
        backend: a backend, or a class that is instantiated without arguments: the function is also
            a decorator of classes.

    Returns:
        The argument.

    Raises:
        Error: stage `usage`; it is not a backend, or a built-in backend has its name.
    """
    found = _checked(backend, getattr(backend, "__name__", type(backend).__name__))
    REGISTERED[found.name] = found
    return backend


def find_backend(on: str) -> Backend:
    """Returns the backend that `on` names: see `unmess.load`.

    Raises:
        Error: stage `usage`; there is none, its file fails, or it has the name of a built-in one.
    """
    if on in REGISTERED:
        return REGISTERED[on]
    if on in BUILT_IN:
        return _built_in(on)
    check_runner(on)
    if match := FILE.fullmatch(on):
        return _checked(load_attribute(match[1], match[2], "backend", _HINT), on)
    if on in installed():
        try:
            value = installed()[on].load()
        except Exception as problem:
            raise Error(
                "usage", f"the backend {on} cannot be imported: {first_line(problem)}", hint=_HINT
            ) from problem
        return _checked(value, on)
    from pipelines.backends.commands.backend import CommandBackend
    from pipelines.backends.commands.description import read_description

    return _checked(CommandBackend(read_description(Path(on).expanduser())), on)


def _checked(value: object, place: str) -> Backend:
    """Returns `value` as a backend; raises an Error if it has the name of a built-in one."""
    backend = check_backend(value, place)
    if backend.name in BUILT_IN:
        raise Error(
            "usage",
            f"{place}: the name {backend.name} belongs to a built-in backend",
            hint="rename yours: reports and caches have its name",
        )
    return backend


@functools.cache
def _built_in(name: str) -> Backend:
    # Import only the libraries of the requested backend.
    return importlib.import_module(BUILT_IN[name].module).backend(name)


def identity_of(backend: Backend, on: str) -> str:
    """Returns a digest of everything that is known to affect what a backend does."""
    if hasattr(backend, "identity"):
        return str(backend.identity())
    if match := FILE.fullmatch(on):
        # The same text in another folder may read other files.
        file = Path(match[1]).expanduser().resolve()
        return hashlib.sha256(f"{file}\n".encode() + file.read_bytes()).hexdigest()
    if on not in installed():
        # A built-in backend is part of `unmess`, so it needs no identity of its own.
        return ""
    distribution = installed()[on].dist
    return "" if distribution is None else f"{distribution.name} {distribution.version}"
