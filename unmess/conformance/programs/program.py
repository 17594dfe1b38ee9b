"""Generated programs as text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_FILE = """\
import torch
import torch.nn.functional as F
from math import inf, nan


class Model(torch.nn.Module):
    def forward(self{arguments}):
        {body}
        return {results}


def model():{inputs}
    return Model(), ({operands})
"""


@dataclass(frozen=True)
class Program:
    """Statements over inputs.

    Attributes:
        inputs: the name and the expression of each input.
        lines: the statements in order.
        results: the names of the results.
    """

    inputs: tuple[tuple[str, str], ...]
    lines: tuple[str, ...]
    results: tuple[str, ...]

    @property
    def source(self) -> str:
        """The text of a Python file whose `model` returns the module and its arguments."""
        return _FILE.format(
            arguments="".join(f", {name}" for name, _ in self.inputs),
            operands="".join(f"{name}, " for name, _ in self.inputs).rstrip(),
            body="\n        ".join(line for text in self.lines for line in text.splitlines()),
            results=", ".join(self.results),
            inputs="".join(f"\n    {name} = {text}" for name, text in self.inputs),
        )

    def pruned(self) -> Program:
        """Returns the program without statements and inputs that no result needs."""
        needed, lines = set(self.results), []
        for text in reversed(self.lines):
            if text.split(" = ")[0] in needed:
                lines.insert(0, text)
                needed |= set(re.findall(r"\b[vx]\d+\b", text))
        inputs = tuple((name, text) for name, text in self.inputs if name in needed)
        return replace(self, inputs=inputs, lines=tuple(lines))
