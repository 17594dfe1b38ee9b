"""Finds operators in a TorchScript file that do more than compute.

`torch.jit.load` only unpickles plain data, but the file's code can call any registered operator.
`aten::save` and `aten::from_file` write files, and libraries register others. Some of the code runs
while the file is loaded (`__setstate__`). PyTorch's own reader reads the records here too, so that
both see the same content.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch

from importers.sources.operator_safety import NAMES, is_harmless

# Code can refer to a name in several ways (`torch.save(x, f)`, `x.save(f)`,
# `getattr(torch, "save")`, with a comment in between), so the word is refused anywhere. TorchScript
# itself writes `getattr(self, "0")` for the parts of containers.
_WORD = re.compile(
    rf"\b(?:{'|'.join(sorted(NAMES - {'load'}))})\b|\bgetattr\b(?!\([\w.]+, \"\w+\"\))"
)
_OPS = re.compile(r"(?<![\w.])ops\b(?:\.(\w+)\.(\w+))?")
# Classes that libraries register. PyTorch's classes for packed quantized weights only hold tensors.
_CLASSES = re.compile(r"\btorch\.classes\b(?!\.quantized\.)[\w.]*")
_DATA = (".pkl", ".py")


def forbidden_code(file: Path) -> str | None:
    """Returns the first call in the file's code that does more than compute, or None.

    Raises:
        RuntimeError: if PyTorch cannot read the file.
    """
    reader = torch._C.PyTorchFileReader(str(file))
    for name in reader.get_all_records():
        if not name.endswith(_DATA):
            continue
        text = reader.get_record(name).decode("utf-8", "replace")
        found = _CLASSES.search(text)
        if not name.endswith(".pkl"):
            found = found or _WORD.search(text) or _forbidden_operator(text)
        if found:
            return found[0]
    return None


def _forbidden_operator(text: str) -> re.Match | None:
    for found in _OPS.finditer(text):
        namespace, name = found.groups()
        if namespace is None:
            return found
        # PyTorch reports operators that are not registered.
        is_there = torch._C._jit_get_schemas_for_operator(f"{namespace}::{name}")
        if is_there and not is_harmless(namespace, name):
            return found
    return None
