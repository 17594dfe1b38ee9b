"""The parent process of workers: forks them, ends them, and reports how they ended."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from unmess.core.processes import children
from unmess.core.processes.temporary_folders import remove_temporary_folders
from unmess.core.processes.workers import inside
from unmess.core.processes.workers.preloading import preload, thread_count

# File descriptors sent with a request, in order: the request, and those for the worker.
DESCRIPTORS = ("request", "messages", "stdin", "stdout", "stderr", "life")
# Kinds of requests: for a fresh interpreter, or for a fork.
FRESH, FORK = b"n", b"f"


@dataclass
class _Worker:
    """A worker process, and the socket to the process that requested it."""

    pid: int
    life: socket.socket


def serve(control: socket.socket, *, fork: bool, modules: Sequence[str]) -> NoReturn:
    """Starts a worker for each request, until the other end of `control` is closed.

    The requesting process holds the other end of a worker's socket `life`. It receives the worker's
    pid, and later the status and the peak memory, as lines of JSON. The worker and everything that
    it started are killed when that process writes to the socket, closes it, or ends.

    Args:
        fork: workers are forks of this process, else fresh interpreters.
        modules: imported before the first fork.
    """
    if fork:
        preload(modules)
        if thread_count() > 1:
            # A fork has only one thread, but inherits the locks that other threads hold. So restart
            # as an interpreter without imports, which starts fresh interpreters as workers. It does
            # so faster than this process could, and they do not inherit its peak memory.
            os.set_inheritable(control.fileno(), True)
            os.execve(
                sys.executable,
                children.command(__package__, "serve", str(control.fileno()), "fresh"),
                children.environment(),
            )
    # The requesting process handles Ctrl-C. SIGTERM is only for ending the imports.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    try:
        _Server(control, fork).run()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


class _Server:
    def __init__(self, control: socket.socket, fork: bool):
        self._control = control
        self._fork = fork
        self._workers: dict[int, _Worker] = {}
        # The interpreter's signal handler writes to this pipe, so that `select` wakes up.
        self._child_ended, self._wake = os.pipe()
        for descriptor in (self._child_ended, self._wake):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake)
        self._selector = selectors.DefaultSelector()
        for source in (control, self._child_ended):
            self._selector.register(source, selectors.EVENT_READ)

    def run(self) -> None:
        """Serves until the requesting process closes `control`."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._control:
                    if not self._answer():
                        self._end_all()
                        return
                elif key.fileobj == self._child_ended:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._child_ended, 1 << 16)
                    self._reap()
                else:
                    self._kill(key.data)

    def _answer(self) -> bool:
        """Starts a worker for one request; returns False if there are no more requests."""
        try:
            kind, numbers, _, _ = socket.recv_fds(
                self._control, 1, len(DESCRIPTORS), socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionResetError:
            return False
        if not kind:
            return False
        descriptors = dict(zip(DESCRIPTORS, numbers, strict=True))
        life = socket.socket(fileno=descriptors.pop("life"))
        try:
            if self._fork and kind == FORK:
                pid = self._fork_worker(descriptors, life)
            else:
                pid = _start_interpreter(descriptors)
        except OSError as problem:
            _report(life, problem=str(problem))
            life.close()
        else:
            self._workers[pid] = worker = _Worker(pid, life)
            self._selector.register(life, selectors.EVENT_READ, worker)
            _report(life, pid=pid)
        finally:
            for descriptor in descriptors.values():
                os.close(descriptor)
        return True

    def _fork_worker(self, descriptors: dict[str, int], life: socket.socket) -> int:
        pid = children.fork()
        if pid:
            return pid
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            inside.restore_signals()
            self._selector.close()
            self._control.close()
            for each in (life, *(worker.life for worker in self._workers.values())):
                each.close()
            os.close(self._child_ended)
            os.close(self._wake)
            for standard, name in enumerate(("stdin", "stdout", "stderr")):
                os.dup2(descriptors[name], standard)
                os.close(descriptors[name])
            inside.work(descriptors["request"], descriptors["messages"])
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    def _reap(self) -> None:
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        for worker in list(self._workers.values()):
            if os.waitid(os.P_PID, worker.pid, flags) is not None:
                # It is not reaped yet, so no other process group can have its id.
                self._kill(worker)
                self._forget(worker)

    def _forget(self, worker: _Worker) -> None:
        remove_temporary_folders(worker.pid)
        _, status, usage = os.wait4(worker.pid, 0)
        del self._workers[worker.pid]
        with contextlib.suppress(KeyError):
            self._selector.unregister(worker.life)
        _report(
            worker.life,
            status=os.waitstatus_to_exitcode(status),
            peak_rss_mb=usage.ru_maxrss * 1024 / 1e6,
        )
        worker.life.close()

    def _kill(self, worker: _Worker) -> None:
        """Kills a worker and everything that it started in its process group."""
        # A worker that was just forked has no process group of its own yet.
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(worker.pid, signal.SIGKILL)
        # Its end is still reported, but its socket needs no more attention.
        with contextlib.suppress(KeyError):
            self._selector.unregister(worker.life)

    def _end_all(self) -> None:
        for worker in list(self._workers.values()):
            self._kill(worker)
            self._forget(worker)


def _start_interpreter(descriptors: dict[str, int]) -> int:
    with open(os.dup(descriptors["request"]), "rb") as file:
        settings = pickle.load(file)
    request, messages = descriptors["request"], descriptors["messages"]
    process = subprocess.Popen(
        children.command(__package__, "work", str(request), str(messages)),
        stdin=descriptors["stdin"],
        stdout=descriptors["stdout"],
        stderr=descriptors["stderr"],
        pass_fds=(request, messages),
        cwd=settings["folder"],
        env={**settings["environment"], "PYTHONPATH": os.pathsep.join(settings["path"])},
        start_new_session=True,
    )
    # `_Server` reaps the process, not `Popen`: `wait4` also returns the peak memory.
    process.returncode = 0
    return process.pid


def _report(life: socket.socket, **facts: object) -> None:
    # The requesting process may have ended.
    with contextlib.suppress(OSError):
        life.sendall(json.dumps(facts).encode() + b"\n")
