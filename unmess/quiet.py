"""Keeps what libraries say about themselves out of a command's output."""

from __future__ import annotations

import logging
import os
import sys
import warnings


def quiet_libraries(pytorch: bool = True) -> None:
    """Silences warnings and logging in this process, unless the user asked for them.

    PyTorch and transformers warn about their own internals; what concerns the user's model is in
    the Program's notes.

    Args:
        pytorch: whether PyTorch is used, which is imported for it.
    """
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    if os.environ.get("TORCH_LOGS"):
        return
    logging.disable(logging.CRITICAL)
    if not pytorch:
        return
    from torch.export import _trace

    # It prints the graph traced so far to stderr for each strategy that fails.
    _trace.print = lambda *_args, **_kwargs: None
