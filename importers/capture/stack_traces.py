"""Makes `torch.export` record the user's whole call stack for each operator."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from unittest import mock

import torch
import torch.fx.proxy

from unmess.core.errors.user_source import is_users

_LAYERS = os.path.join(os.path.dirname(torch.__file__), "nn", "modules") + os.sep


def full_stack_traces(caller: str) -> contextlib.AbstractContextManager[None]:
    """Makes traced nodes keep all user frames called from the file `caller`, in the `with` block.

    By default the tracer keeps only frames of functions named `forward`. A model that is a plain
    function would have no source lines, and neither would a helper function that a module calls.
    """
    return recorded_frames(lambda tracer: _user_frames(tracer, caller))


@contextlib.contextmanager
def recorded_frames(
    frames: Callable[[types.FrameType], list[traceback.FrameSummary]],
) -> Iterator[None]:
    """Makes traced nodes keep the frames that a function returns, in the `with` block.

    PyTorch's tracer converts all frames of the Python stack for each node, also those of its own
    machinery, and filters them afterwards. This takes longer than anything else about a node.

    Args:
        frames: takes the innermost frame of the tracer, and returns the outermost frame first.
    """

    class Frames:
        """The interface of PyTorch's `CapturedTraceback` that the tracer uses."""

        @staticmethod
        def extract() -> Frames:
            return Frames()

        def summary(self) -> traceback.StackSummary:
            return traceback.StackSummary.from_list(frames(sys._getframe(1)))

    def keep(_tracer, stack: traceback.StackSummary) -> traceback.StackSummary:
        return stack

    with (
        mock.patch.object(torch.fx.proxy, "CapturedTraceback", Frames),
        mock.patch.object(torch.fx.proxy.TracerBase, "_filter_traceback_frames", keep),
    ):
        yield


def _user_frames(frame: types.FrameType | None, caller: str) -> list[traceback.FrameSummary]:
    """Returns the interesting frames from `frame` up to the innermost one of the file `caller`."""
    found = []
    while frame is not None and frame.f_code.co_filename != caller:
        code = frame.f_code
        if is_interesting(code.co_filename, code.co_name):
            line = frame.f_lineno
            found.append(
                traceback.FrameSummary(code.co_filename, line, code.co_name, lookup_line=False)
            )
        frame = frame.f_back
    return found[::-1]


# Each node has about a hundred frames, most of them the same as in the node before.
@functools.lru_cache(maxsize=10_000)
def is_interesting(filename: str, function: str) -> bool:
    """Returns True for a frame of the user's code or of the `forward` of a PyTorch layer."""
    if is_users(filename):
        return True
    return function == "forward" and filename.startswith(_LAYERS)
