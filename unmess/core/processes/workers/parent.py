"""Starts the parent process of workers, and requests workers from it."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unmess.core.processes import children
from unmess.core.processes.workers import server
from unmess.core.processes.workers.preloading import thread_count
from unmess.core.processes.workers.worker import Worker

# macOS has `fork`, but its system libraries do not work after it.
CAN_FORK = sys.platform == "linux"
# Prefixes of environment variables that are read only at start. A fork has its parent's values.
_READ_AT_START = (
    *("PYTHON", "LD_", "MALLOC_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_"),
    *("TORCH", "PYTORCH", "HF_", "TRANSFORMERS_", "HOME", "XDG_"),
)
# Variables that are read later, too. The first capture in a process sets this one.
_READ_LATER = frozenset({"TORCHINDUCTOR_CACHE_DIR"})


def start_up_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that libraries read when they are loaded.

    A worker whose variables differ from those of the parent is a fresh interpreter.
    """
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_AT_START) and name not in _READ_LATER
    }


class Parent:
    """The process that starts workers. It starts with the first worker.

    Use it as a context manager, or close it. In any case, it and all its workers end with this
    process.

    Args:
        modules: imported once, for all workers.
        fork: None: fork if the system supports it. False: each worker is a fresh interpreter, which
            imports what it needs.
    """

    def __init__(self, modules: Sequence[str] = (), fork: bool | None = None):
        self._modules = tuple(modules)
        self._fork = CAN_FORK if fork is None else fork
        self._control: socket.socket | None = None
        self._pid = 0
        self._environment: dict[str, str] = {}
        # Several threads may start workers at the same time.
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> Parent:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def begin(self) -> None:
        """Starts the process, unless it runs already. Its imports run in the background."""
        if self._control is not None:
            return
        self._control, theirs = socket.socketpair()
        self._environment = dict(os.environ)
        with theirs:
            self._pid = (self._fork_here if self._can_fork_here() else self._start)(theirs)

    def close(self) -> None:
        """Ends the process and all workers. No more workers can be started."""
        with self._lock:
            self._closed = True
            self._stop()

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
            with contextlib.suppress(ProcessLookupError):
                # This ends the imports, which take seconds. Once it serves, it ignores the signal.
                os.kill(self._pid, signal.SIGTERM)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)

    def start(
        self,
        function: Callable[..., int | None] | str,
        *arguments: Any,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        folder: str | os.PathLike | None = None,
        environment: Mapping[str, str] | None = None,
        argv: Sequence[str] | None = None,
    ) -> Worker:
        """Starts a worker that calls `function(send, *arguments)`.

        Each call of `send` with a picklable value sends a message. The function returns the exit
        status; None means 0.

        Args:
            function: in a module that the worker can import, or its name as `module:function`.
                With a name, this process need not import the module.
            arguments: must be picklable.
            stdin: a file descriptor. None: it is empty.
            stdout, stderr: file descriptors. None: a pipe that the Worker reads, for both.
            folder, environment, argv: settings of the worker; None: those of this process. If a
                variable differs that libraries read when they are loaded, the worker is a fresh
                interpreter.

        Raises:
            OSError: no process can be started.
        """
        _check_importable(function)
        environment = dict(os.environ if environment is None else environment)
        settings = {
            "folder": os.path.abspath(folder or os.getcwd()),
            "environment": environment,
            "path": [os.path.abspath(each) for each in sys.path],
            "argv": list(sys.argv if argv is None else argv),
        }
        with contextlib.ExitStack() as stack:
            request = stack.enter_context(tempfile.TemporaryFile())
            request.write(pickle.dumps(settings) + pickle.dumps((function, arguments)))
            request.flush()
            request.seek(0)
            if stdin is None:
                stdin = os.open(os.devnull, os.O_RDONLY)
                stack.callback(os.close, stdin)
            messages, their_messages = os.pipe()
            stack.callback(os.close, their_messages)
            life, their_life = socket.socketpair()
            stack.enter_context(their_life)
            output = None
            if stdout is None or stderr is None:
                output, their_output = os.pipe()
                stack.callback(os.close, their_output)
                stdout = their_output if stdout is None else stdout
                stderr = their_output if stderr is None else stderr
            worker = Worker(life, messages, output)
            try:
                descriptors = [request.fileno(), their_messages, stdin, stdout, stderr]
                with self._lock:
                    self._ask([*descriptors, their_life.fileno()], environment)
            except BaseException:
                # Close the worker's end of the socket. Otherwise, `end` waits for a report.
                their_life.close()
                worker.end()
                raise
        return worker

    def _ask(self, descriptors: list[int], environment: dict[str, str]) -> None:
        for attempt in range(2):
            if self._closed:
                raise OSError("the parent of the workers is closed")
            self.begin()
            differs = start_up_variables(environment) != start_up_variables(self._environment)
            kind = server.FRESH if differs else server.FORK
            try:
                socket.send_fds(self._control, [kind], descriptors)
            except BrokenPipeError:
                # The parent process was ended from outside. Start another one, once.
                self._stop()
                if attempt:
                    raise
            else:
                return

    def _can_fork_here(self) -> bool:
        """Returns whether a fork of this process can be the parent, as in a fork of a parent."""
        return (
            self._fork
            and thread_count() == 1
            and all(name.partition(":")[0] in sys.modules for name in ("torch", *self._modules))
        )

    def _fork_here(self, control: socket.socket) -> int:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            return pid
        try:
            os.setsid()
            self._control.close()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
            server.serve(control, fork=True, modules=self._modules)
        finally:
            os._exit(1)

    def _start(self, control: socket.socket) -> int:
        process = subprocess.Popen(
            children.command(
                __package__,
                "serve",
                str(control.fileno()),
                "fork" if self._fork else "fresh",
                *(self._modules if self._fork else ()),
            ),
            stdin=subprocess.DEVNULL,
            # stdout is only for results.
            stdout=sys.__stderr__.fileno(),
            pass_fds=(control.fileno(),),
            env=children.environment(),
            start_new_session=True,
        )
        # `close` reaps the process, not `Popen`.
        process.returncode = 0
        return process.pid


def _check_importable(function: Callable | str) -> None:
    if not isinstance(function, str) and function.__module__ == "__main__":
        raise ValueError(
            f"{function.__qualname__} is defined in __main__, which workers cannot import"
        )
