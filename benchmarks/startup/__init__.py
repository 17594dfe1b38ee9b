"""How long commands and calls take from the start of a process, beside bare imports.

One file per section; each has a `main` that prints its table.
"""

import importlib

SECTIONS = ("commands", "second_start", "many_models")


def main() -> None:
    for section in SECTIONS:
        importlib.import_module(f"benchmarks.startup.{section}").main()
