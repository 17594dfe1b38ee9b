"""Keeps logs, warnings and prints of libraries about themselves off the terminal.

The user's own logs, warnings and prints are never touched.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unmess.core.errors.user_source import is_own_code

_SITE_PACKAGES = sysconfig.get_path("purelib") + os.sep
# Logger by which PyTorch reports to its own handlers. draft_export needs it.
_TRACE = "torch.__trace"
# Context managers that `quiet_libraries` enters until the process ends.
_for_good = contextlib.ExitStack()
_is_shown = False


def quiet_libraries(pytorch: bool = True) -> None:
    """Silences the logs and warnings of libraries for the rest of this process.

    PyTorch and transformers report on their own internals. The Program's notes report everything
    that concerns the user's model. With TORCH_LOGS, logs are shown. With Python's option -W,
    warnings are shown.

    Args:
        pytorch: also silence the graphs that torch.export prints. This imports PyTorch.
    """
    if not sys.warnoptions:
        _for_good.enter_context(_drop_warnings())
    if os.environ.get("TORCH_LOGS"):
        return
    _for_good.enter_context(_drop_records(_SITE_PACKAGES))
    if pytorch:
        _for_good.enter_context(_drop_graphs())


def show_pytorch_messages() -> None:
    """Makes `quiet_pytorch` do nothing for the rest of this process."""
    global _is_shown
    _is_shown = True


@contextlib.contextmanager
def quiet_pytorch() -> Iterator[None]:
    """Silences PyTorch's logging, warnings and printed graphs inside the `with` block.

    Logging that the user asked for with TORCH_LOGS or `torch._logging.set_logs` is shown.
    """
    from torch._logging._internal import log_state

    is_asked_for = bool(log_state.log_qname_to_level or log_state.artifact_names)
    if _is_shown or is_asked_for or os.environ.get("TORCH_LOGS"):
        yield
        return
    folder = str(Path(importlib.util.find_spec("torch").origin).parent) + os.sep
    with _drop_records(folder), _drop_graphs(), warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.filterwarnings("ignore", module=r"torch\.|copyreg$")
            # PyTorch issues this warning in a context manager, so its module is in the standard
            # library: match the message.
            warnings.filterwarnings("ignore", message=r"The tensor attributes? self\.")
        yield


@contextlib.contextmanager
def _drop_records(folder: str) -> Iterator[None]:
    """Drops the log records of code in `folder`."""
    handle = logging.Logger.handle

    def keep_others(self: logging.Logger, record: logging.LogRecord) -> None:
        if self.name == _TRACE or not record.pathname.startswith(folder):
            handle(self, record)

    with _replaced(logging.Logger, "handle", keep_others):
        yield


@contextlib.contextmanager
def _drop_warnings() -> Iterator[None]:
    """Drops the warnings that are not about a line of the user's own code."""
    show = warnings.showwarning

    def show_users(message, category, filename, lineno, file=None, line=None) -> None:
        if is_own_code(filename):
            show(message, category, filename, lineno, file, line)

    with _replaced(warnings, "showwarning", show_users):
        yield


@contextlib.contextmanager
def _drop_graphs() -> Iterator[None]:
    """Drops the graph that torch.export prints to stderr for each strategy that fails."""
    from torch.export import _trace

    with _replaced(_trace, "print", lambda *_args, **_kwargs: None):
        yield


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Sets an attribute inside the `with` block. Importing `unittest.mock` takes 0.1 s."""
    missing = object()
    before = getattr(owner, name, missing)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if before is missing:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
