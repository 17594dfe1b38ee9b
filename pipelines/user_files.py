"""Loads what users name as `FILE.py:NAME`."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import sys
from pathlib import Path
from typing import Any

from unmess.core.errors.error import Error, first_line
from unmess.core.errors.user_source import user_line
from unmess.core.options.names import did_you_mean

_serial = itertools.count()


def load_attribute(path: str, name: str, kind: str, otherwise: str) -> Any:
    """Runs a Python file and returns the value of one of its names.

    Args:
        kind: what the value is to be, for messages: `function`.
        otherwise: the hint if no name in the file is similar.

    Raises:
        Error: stage `usage`; there is no such file or name, or the file does not run.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise Error("usage", f"no file {path}", hint=f"write your own {kind} as FILE.py:NAME")
    # A unique name avoids conflicts with files of the same name.
    own = f"_unmess_{kind}_{next(_serial)}_{file.stem}"
    spec = importlib.util.spec_from_file_location(own, file.resolve())
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up the module of a class here.
    sys.modules[own] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:
        del sys.modules[own]
        raise Error(
            "usage",
            f"{path} does not run: {first_line(problem)}",
            where=user_line(problem),
            hint="run the file on its own first",
        ) from problem
    value = getattr(module, name, None)
    if value is None:
        names = [
            key
            for key, each in vars(module).items()
            if not key.startswith("_") and not inspect.ismodule(each)
        ]
        raise Error(
            "usage", f"{path} has no {kind} {name}", hint=did_you_mean(name, names, otherwise)
        )
    return value
