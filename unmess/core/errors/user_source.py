"""Finds the user's source line behind an exception, a graph node or an MLIR location."""

from __future__ import annotations

import importlib.util
import os
import re
import sysconfig
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_ROOT = Path(__file__).resolve().parents[3]


def _folder(path: str | Path) -> str:
    return f"{path}{os.sep}"


# Frames in these folders are machinery. Installed model libraries (torchvision, transformers) are
# not, although `site-packages` lies inside the standard library's folder.
_MACHINERY = (
    _folder(Path(importlib.util.find_spec("torch").origin).parent),
    # torch.export gives this relative path for the sizes that it computes.
    "torch/fx/passes/",
    *(_folder(_ROOT / package) for package in ("unmess", "importers", "pipelines")),
)
_STANDARD_LIBRARY = _folder(sysconfig.get_path("stdlib"))
_SITE_PACKAGES = _folder(sysconfig.get_path("purelib"))
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_LOCATION = re.compile(r'"([^"]+)":(\d+):\d+')


def is_users(filename: str) -> bool:
    """Returns whether a frame belongs to the user or to a model library, not to the machinery."""
    if filename.startswith(("<", *_MACHINERY)):
        return False
    return filename.startswith(_SITE_PACKAGES) or not filename.startswith(_STANDARD_LIBRARY)


def is_own_code(filename: str) -> bool:
    """Returns whether a frame belongs to the user's own code, not to an installed library."""
    return is_users(filename) and not filename.startswith(_SITE_PACKAGES)


def user_line(problem: BaseException | None) -> str | None:
    """Returns the innermost user frame of an exception or its causes, as `file:line`."""
    while problem is not None:
        # Exceptions from code without Python frames may have the line as an attribute.
        if isinstance(where := getattr(problem, "where", None), str):
            return where
        frames = [
            (frame.filename, frame.lineno) for frame in traceback.extract_tb(problem.__traceback__)
        ]
        for filename, line in reversed(frames):
            if is_users(filename):
                return f"{filename}:{line}"
        if isinstance(problem, SyntaxError) and problem.filename:
            return f"{problem.filename}:{problem.lineno}"
        problem = problem.__cause__ or problem.__context__
    return None


def node_line(node: torch.fx.Node) -> str | None:
    """Returns the innermost user frame that PyTorch recorded for a graph node, as `file:line`."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    for filename, line in reversed(frames):
        if is_users(filename):
            return f"{filename}:{line}"
    return None


def location_line(location: object) -> str | None:
    """Returns the innermost user frame in an MLIR location (or its text), as `file:line`."""
    for filename, line in _LOCATION.findall(str(location)):
        # The location of a parsed module has line 0.
        if line != "0" and is_users(filename):
            return f"{filename}:{line}"
    return None


def enclosing_line(operation: Any) -> str | None:
    """Returns the user's line of an MLIR operation, or else of the nearest one around it."""
    while operation.name != "builtin.module":
        if line := location_line(operation.location):
            return line
        operation = operation.parent.operation
    return None
