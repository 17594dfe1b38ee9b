"""Writes a trace as a Python file that needs only torch, and is a model for unmess.

This module does not import PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

from unmess.triage.trace import Call, Code, Reference, Trace, Value


def program_text(trace: Trace, header: str = "") -> str:
    """Returns a Python file with a class `Repro`, and a factory `model` with its example call.

    Args:
        header: docstring and comments at the top.
    """
    weights = [value for value in trace.inputs if value.is_weight]
    arguments = [value for value in trace.inputs if not value.is_weight]
    parts = [f"{header}\n\n{_imports(trace)}" if header else _imports(trace)]
    parts += dict.fromkeys(call.definitions for call in trace.calls if call.definitions)
    lines = ["class Repro(torch.nn.Module):"]
    if weights:
        lines += ["    def __init__(self):", "        super().__init__()"]
        lines += [f"        self.register_buffer({v.name!r}, {v.expression})" for v in weights]
        lines.append("")
    names = ", ".join(["self", *(value.name for value in arguments)])
    lines.append(f"    def forward({names}):")
    lines += [f"        {value.name} = self.{value.name}" for value in weights]
    lines += [f"        {call_text(call)}" for call in trace.calls]
    results = "".join(f"{name}, " for name in trace.outputs).rstrip()
    lines.append(f"        return ({results})" if results else "        return ()")
    parts.append("\n".join(lines))
    lines = ["def model():", "    torch.manual_seed(0)"]
    lines += ["    arguments = ("]
    lines += [f"        {value.expression},  # {described(value)}" for value in arguments]
    lines += ["    )", "    return Repro().eval(), arguments"]
    parts.append("\n".join(lines))
    return "\n\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _imports(trace: Trace) -> str:
    text = " ".join([*map(call_text, trace.calls), *(str(v.expression) for v in trace.inputs)])
    lines = [f"import {name}" for name in ("math", "operator") if f"{name}." in text]
    lines += ["from pathlib import Path"] if "Path(" in text else []
    return "\n".join([*lines, *([""] if lines else []), "import torch\n"])


def call_text(call: Call) -> str:
    """Returns a call as one line of Python, with the user's source line as a comment."""
    given = [spelled(argument) for argument in call.args]
    given += [f"{name}={spelled(argument)}" for name, argument in call.kwargs.items()]
    text = f"{call.value.name} = {call.function}({', '.join(given)})"
    return f"{text}  # {call.where}" if call.where else text


def spelled(argument: Any) -> str:
    """Returns an argument as Python code."""
    if isinstance(argument, Reference):
        return argument.name
    if isinstance(argument, Code):
        return argument.text
    if isinstance(argument, float) and not math.isfinite(argument):
        return f'float("{argument}")'
    if isinstance(argument, list):
        return f"[{', '.join(map(spelled, argument))}]"
    if isinstance(argument, tuple):
        return f"({''.join(f'{spelled(item)}, ' for item in argument).rstrip()})"
    if isinstance(argument, dict):
        return "{" + ", ".join(f"{k!r}: {spelled(v)}" for k, v in argument.items()) + "}"
    if isinstance(argument, slice):
        parts = (argument.start, argument.stop, argument.step)
        return f"slice({', '.join(map(spelled, parts))})"
    return "..." if argument is Ellipsis else repr(argument)


def described(value: Value) -> str:
    """Returns the name, dtype and shape of a value, for people."""
    if not value.is_tensor:
        return value.name
    return f"{value.name}: {value.dtype}[{', '.join(map(str, value.shape))}]"
