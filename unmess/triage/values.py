"""Describes recorded values for a trace, and stores tensors in files. Runs in workers."""

from __future__ import annotations

import inspect
import keyword
from pathlib import Path
from typing import Any

import torch

from unmess.core.program.strides import cloned
from unmess.triage.program_text import spelled
from unmess.triage.trace import Code, Reference, Value

# Tensors with up to this many elements are written into the Python file.
_LITERAL_ELEMENTS = 16
# The sum of the sizes of stored tensors, in bytes. Further tensors cannot become inputs.
_STORED_BYTES = 4 << 30


class Values:
    """The values of one recording, by name.

    Args:
        folder: where tensors are stored, one file each.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._taken: set[str] = set()
        self._left = _STORED_BYTES

    def name(self, wanted: str) -> str:
        """Returns an identifier like `wanted` that no other value has."""
        text = "".join(c if c.isalnum() and c.isascii() else "_" for c in wanted) or "value"
        if text[0].isdigit() or keyword.iskeyword(text) or text in ("torch", "math", "operator"):
            text = f"v_{text}"
        name, number = text, 1
        while name in self._taken:
            name, number = f"{text}_{number}", number + 1
        self._taken.add(name)
        return name

    def value(self, name: str, recorded: Any, **more: Any) -> Value:
        """Describes a value, and stores it if it is a tensor.

        Args:
            more: further attributes of the Value.
        """
        if isinstance(recorded, torch.Tensor):
            return self._tensor(name, recorded, **more)
        expression = spelled(argument(recorded)) if is_plain(recorded) else None
        return Value(name, expression, **more)

    def _tensor(self, name: str, recorded: torch.Tensor, **more: Any) -> Value:
        dtype = str(recorded.dtype).removeprefix("torch.")
        shape = tuple(int(size) for size in recorded.shape)
        recorded = recorded.detach()
        is_stored = recorded.layout == torch.strided and recorded.device.type == "cpu"
        size = recorded.numel() * recorded.element_size()
        if not is_stored or recorded.is_quantized or size > self._left:
            return Value(name, None, shape, dtype, **more)
        self._left -= size
        file = self._folder / f"{name}.pt"
        torch.save(cloned(recorded), file)
        return Value(
            name,
            f"torch.load({str(file)!r})",
            shape,
            dtype,
            literal=_literal(recorded, dtype),
            file=str(file),
            **more,
        )


def _literal(tensor: torch.Tensor, dtype: str) -> str | None:
    """Returns code of a small tensor; None for a large one, and for dtypes without Python code."""
    if not 0 < tensor.numel() <= _LITERAL_ELEMENTS or tensor.is_complex() or "8_e" in dtype:
        return None
    return f"torch.tensor({spelled(argument(tensor.tolist()))}, dtype=torch.{dtype})"


def is_plain(value: Any) -> bool:
    """Returns whether `argument` can write a value as Python code."""
    if isinstance(value, (list, tuple)):
        return type(value) in (list, tuple, torch.Size) and all(map(is_plain, value))
    if isinstance(value, dict):
        return type(value) is dict and all(map(is_plain, value.values()))
    if isinstance(value, slice):
        return all(map(is_plain, (value.start, value.stop, value.step)))
    kinds = (bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.layout)
    return value is None or value is Ellipsis or type(value) in (*kinds, torch.memory_format)


def argument(value: Any) -> Any:
    """Returns an argument of a call for a trace. Objects without Python code become `Code`."""
    if isinstance(value, (Reference, Code)):
        return value
    if type(value) is list:
        return [argument(item) for item in value]
    if isinstance(value, tuple):
        return tuple(argument(item) for item in value)
    if isinstance(value, dict):
        return {key: argument(item) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*map(argument, (value.start, value.stop, value.step)))
    if isinstance(value, torch.device):
        return Code(f"torch.device({str(value)!r})")
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return Code(str(value))
    return value


def function_code(function: Any) -> str | None:
    """Returns Python code of a function of PyTorch or of Python's library, or None."""
    if isinstance(function, torch._ops.HigherOrderOperator):
        return f"torch.ops.higher_order.{function.name()}"
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return f"torch.ops.{function}"
    text = torch.overrides.resolve_name(function)
    if text is None and (inspect.isbuiltin(function) or inspect.isfunction(function)):
        module = {"_operator": "operator"}.get(function.__module__, function.__module__)
        text = f"{module}.{function.__name__}"
    if text is None or text.partition(".")[0] not in ("torch", "operator", "math"):
        return None
    return text
