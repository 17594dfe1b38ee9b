"""Startup times of commands and calls, from process start, compared with bare imports.

One file per section; each has a `main` that prints its table.
"""

import importlib

SECTIONS = ("commands", "second_start", "many_models")


def main() -> None:
    for section in SECTIONS:
        importlib.import_module(f"benchmarks.startup.{section}").main()
