"""Which line of the user's code an exception, a graph node or an MLIR location comes from."""

from __future__ import annotations

import importlib.util
import os
import re
import sysconfig
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_ROOT = Path(__file__).resolve().parents[2]


def _folder(path: str | Path) -> str:
    return f"{path}{os.sep}"


# Frames here are machinery. Installed model libraries (torchvision, transformers) are not, though
# `site-packages` lies inside the standard library's folder.
_MACHINERY = (
    _folder(Path(importlib.util.find_spec("torch").origin).parent),
    # As torch.export spells it for the sizes that it computes.
    "torch/fx/passes/",
    *(_folder(_ROOT / package) for package in ("unmess", "importers", "pipelines")),
)
_STANDARD_LIBRARY = _folder(sysconfig.get_path("stdlib"))
_SITE_PACKAGES = _folder(sysconfig.get_path("purelib"))
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_LOCATION = re.compile(r'"([^"]+)":(\d+):\d+')


def is_users(filename: str) -> bool:
    """Whether a frame belongs to the user or to a model library, not to the machinery."""
    if filename.startswith(("<", *_MACHINERY)):
        return False
    return filename.startswith(_SITE_PACKAGES) or not filename.startswith(_STANDARD_LIBRARY)


def is_own_code(filename: str) -> bool:
    """Whether a frame belongs to code that the user wrote, not to an installed library."""
    return is_users(filename) and not filename.startswith(_SITE_PACKAGES)


def user_line(problem: BaseException | None) -> str | None:
    """The innermost user frame of an exception or of what caused it, as `file:line`."""
    while problem is not None:
        # An exception in code that has no Python frames may say itself where it comes from.
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
    """The innermost user frame that PyTorch recorded for a graph node, as `file:line`."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    for filename, line in reversed(frames):
        if is_users(filename):
            return f"{filename}:{line}"
    return None


def location_line(location: object) -> str | None:
    """The innermost user frame in an MLIR location (or its text), as `file:line`."""
    for filename, line in _LOCATION.findall(str(location)):
        # A module that was parsed says line 0.
        if line != "0" and is_users(filename):
            return f"{filename}:{line}"
    return None
