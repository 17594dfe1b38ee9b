"""Makes `torch.export` record the user's whole call stack for each operator."""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Iterator
from unittest import mock

import torch
import torch.fx.proxy

from unmess.core.errors.user_source import is_users

_LAYERS = os.path.join(os.path.dirname(torch.__file__), "nn", "modules") + os.sep


@contextlib.contextmanager
def full_stack_traces(caller: str) -> Iterator[None]:
    """Makes traced nodes keep all user frames called from the file `caller`, in the `with` block.

    By default the tracer keeps only frames of functions named `forward`. A model that is a plain
    function would have no source lines, and neither would a helper function that a module calls.
    """

    def keep(_tracer, stack: traceback.StackSummary) -> traceback.StackSummary:
        start = max(
            (index + 1 for index, frame in enumerate(stack) if frame.filename == caller), default=0
        )
        frames = [frame for frame in stack[start:] if is_interesting(frame)]
        return traceback.StackSummary.from_list(frames)

    with mock.patch.object(torch.fx.proxy.TracerBase, "_filter_traceback_frames", keep):
        yield


def is_interesting(frame: traceback.FrameSummary) -> bool:
    """Returns True for a frame of the user's code or of the `forward` of a PyTorch layer."""
    if is_users(frame.filename):
        return True
    return frame.name == "forward" and frame.filename.startswith(_LAYERS)
