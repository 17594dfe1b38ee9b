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

from unmess.core import processes
from unmess.core.workers import inside
from unmess.core.workers.preloading import preload, thread_count

# What comes with a request: the request itself, and the descriptors that a worker begins with.
DESCRIPTORS = ("request", "messages", "stdin", "stdout", "stderr", "life")
# Requests that need a fresh interpreter, and others.
FRESH, FORK = b"n", b"f"


@dataclass
class _Worker:
    """A process that works, and the socket to the process that asked for it."""

    pid: int
    life: socket.socket


def serve(control: socket.socket, *, fork: bool, modules: Sequence[str]) -> NoReturn:
    """Starts a worker for each request, until the other end of `control` is closed.

    The process that asks holds the other end of the socket `life` of a worker. It gets the pid of
    the worker, and later the status and the peak memory, as lines of JSON. The worker and all that
    it started are killed when that process writes to the socket, closes it, or ends.

    Args:
        fork: workers are forks of this process, else fresh interpreters.
        modules: imported before the first fork.
    """
    if fork:
        preload(modules)
        if thread_count() > 1:
            # A fork has only one thread, and the locks of all others. An interpreter that has
            # imported nothing starts the others faster, and they do not inherit its peak memory.
            os.set_inheritable(control.fileno(), True)
            os.execve(
                sys.executable,
                processes.command(__package__, "serve", str(control.fileno()), "fresh"),
                processes.environment(),
            )
    # Ctrl-C is for the process that asks. SIGTERM only ends the imports.
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
        # Written to by the signal handler of the interpreter, so that `select` wakes up.
        self._child_ended, self._wake = os.pipe()
        for descriptor in (self._child_ended, self._wake):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake)
        self._selector = selectors.DefaultSelector()
        for source in (control, self._child_ended):
            self._selector.register(source, selectors.EVENT_READ)

    def run(self) -> None:
        """Serves until nobody is left that could ask."""
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
        pid = processes.fork()
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
                # It is not reaped yet, so the number of its group is still its own.
                self._kill(worker)
                self._forget(worker)

    def _forget(self, worker: _Worker) -> None:
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
        """Kills a worker and all that it started, as far as that is in its process group."""
        # One that has just been forked has no group of its own yet.
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(worker.pid, signal.SIGKILL)
        # Its end is reported, but nothing that comes from there is waited for any more.
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
        processes.command(__package__, "work", str(request), str(messages)),
        stdin=descriptors["stdin"],
        stdout=descriptors["stdout"],
        stderr=descriptors["stderr"],
        pass_fds=(request, messages),
        cwd=settings["folder"],
        env={**settings["environment"], "PYTHONPATH": os.pathsep.join(settings["path"])},
        start_new_session=True,
    )
    # `_Server` reaps the process, and also asks how much memory it used.
    process.returncode = 0
    return process.pid


def _report(life: socket.socket, **facts: object) -> None:
    # The process that asked may have gone.
    with contextlib.suppress(OSError):
        life.sendall(json.dumps(facts).encode() + b"\n")
