"""Shortens IR to the first lines of its entry function."""

from __future__ import annotations

import re

_LINES = 12
_WIDTH = 160
# Literals with more characters are left out.
_LITERAL = re.compile(r"dense<(?:\"[^\"]{17,}\"|[^<>\"]{33,})>")
_CONSTANT = re.compile(
    r"\s*%\S+ = \"?(?:(?:arith|torch|stablehlo)\.constant|tosa\.const|torch\.vtensor\.literal)"
)


def excerpt(ir: str, entry: str, lines: int = _LINES, width: int = _WIDTH) -> str:
    """Returns the first lines of a function.

    Args:
        ir: the text of a module.
        entry: the name of the function.
        lines: the number of lines after the first one, which has the arguments. Lines that only
            define a constant are left out.
        width: longer lines are cut.
    """
    start = re.compile(rf"\s*func\.func (?:public )?@\"?{re.escape(entry)}\"?\(")
    found = ir.splitlines()
    first = next((at for at, line in enumerate(found) if start.match(line)), 0)
    indent = len(found[first]) - len(found[first].lstrip()) if found else 0
    body = found[first:]
    end = next((at for at, line in enumerate(body) if line == " " * indent + "}"), len(body))
    function = [line for line in body[: end + 1] if not _CONSTANT.match(line)]
    shown = [_cut(line[indent:], width) for line in function[: lines + 1]]
    if len(function) > len(shown):
        shown.append("  …")
    return "\n".join(shown)


def _cut(line: str, width: int) -> str:
    line = _LITERAL.sub("dense<…>", line).rstrip()
    return line if len(line) <= width else f"{line[: width - 1]}…"
