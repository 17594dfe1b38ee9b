"""MLIR's largest dialect modules, imported at first use.

Importing `llvm` takes 0.26 s and `linalg` 0.25 s. Commands that only parse IR or list passes do not
need them.
"""

from __future__ import annotations

import importlib
from typing import Any


class _LazyModule:
    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


llvm = _LazyModule("torch_mlir.dialects.llvm")
linalg = _LazyModule("torch_mlir.dialects.linalg")
