"""Startup times of commands and calls, from process start, compared with bare imports.

One file per section; each has a `main` that prints its table.
"""

import importlib
import os
import sys

SECTIONS = ("commands", "second_start", "python_calls", "many_models")


def main() -> None:
    # Users' processes read bytecode files. Without them, each one compiles the libraries again.
    if sys.dont_write_bytecode:
        sys.dont_write_bytecode = False
        sys.pycache_prefix = os.path.join(sys.prefix, "bytecode")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    for section in SECTIONS:
        importlib.import_module(f"benchmarks.startup.{section}").main()
