"""Imports MLIR's bindings without NumPy.

The bindings import NumPy, which takes 0.13 s. They use it only to build attributes from lists of
numbers. Commands that only parse IR or list steps do not need it.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any


class _Numpy(types.ModuleType):
    """Stands for NumPy in the bindings; imports it at first use."""

    def __getattr__(self, attribute: str) -> Any:
        import numpy

        return getattr(numpy, attribute)


def import_bindings(name: str = "torch_mlir.ir") -> types.ModuleType:
    """Returns the module of MLIR's bindings. Imports NumPy only when the bindings use it."""
    if "numpy" in sys.modules:
        return importlib.import_module(name)
    sys.modules["numpy"] = _Numpy("numpy")
    try:
        return importlib.import_module(name)
    finally:
        # Other importers get NumPy itself.
        del sys.modules["numpy"]
