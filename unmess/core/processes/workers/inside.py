"""Sets up a worker, runs its function, and ends it."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import pkgutil
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

# Header of each message: its size in bytes.
HEADER = struct.Struct("!Q")
# Kinds of messages.
MESSAGE, FINISHED = "message", "finished"


def restore_signals() -> None:
    """Resets signals to the defaults of an interpreter. The parent ignores some."""
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def work(request: int, messages: int) -> NoReturn:
    """Runs the function of a request, and ends the process.

    Args:
        request: file descriptor of a file with two pickles: the settings of the process, and the
            function with its arguments.
        messages: file descriptor that messages are written to. The function gets a callable that
            sends its argument as one.
    """
    status = 1
    try:
        for descriptor in (request, messages):
            os.set_inheritable(descriptor, False)
        with open(request, "rb") as file:
            file.seek(0)
            _become(pickle.load(file))
            # Unpickling imports the module of the function, so the search path must be set before.
            function, arguments = pickle.load(file)
        status = resolve(function)(_sender(messages), *arguments) or 0
        _send(messages, FINISHED, None)
    except SystemExit as problem:
        # The same exit status as from the interpreter.
        status = problem.code if isinstance(problem.code, int) else int(problem.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        # All results are sent. Skip the exit handlers, also those of native libraries.
        os._exit(status)


def resolve(function: Callable | str) -> Callable:
    """Returns the function, which may be given by name as `module:function`."""
    return pkgutil.resolve_name(function) if isinstance(function, str) else function


def _become(settings: dict[str, Any]) -> None:
    """Applies the settings that `Parent.start` writes."""
    os.chdir(settings["folder"])
    if os.environ != settings["environment"]:
        os.environ.clear()
        os.environ.update(settings["environment"])
    sys.path[:] = settings["path"]
    sys.argv[:] = settings["argv"]
    importlib.invalidate_caches()
    if "numpy" in sys.modules:
        # Otherwise, all forks draw the same numbers. Python's own generator seeds itself after a
        # fork, and PyTorch's has the same seed in each process anyway.
        sys.modules["numpy"].random.seed()


def _sender(messages: int) -> Callable[[Any], None]:
    return lambda message: _send(messages, MESSAGE, message)


def _send(messages: int, kind: str, value: Any) -> None:
    data = pickle.dumps((kind, value))
    data = HEADER.pack(len(data)) + data
    while data:
        data = data[os.write(messages, data) :]
