"""Runs a command in a child process, and reports how it crashed."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from unmess.cli.streams import show_error
from unmess.core.errors.error import Error
from unmess.core.errors.stages import LOWERED
from unmess.core.processes import children, crash_log

# Signals treated as crashes, and the one sent by the out-of-memory killer.
_CRASHES = (
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGKILL,
    signal.SIGSEGV,
)
_FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


def supervised(function: Callable[[], int]) -> int:
    """Calls `function` in a fork of this process, and returns its exit status.

    If native code crashes the fork, prints an Error on stderr and, with `--json`, on stdout. The
    Error names the stage; if that is a stage of lowering, also the pass and a reproducer. Signals
    that are sent to this process are forwarded to the fork. Call this before any other thread is
    started.

    Args:
        function: returns an exit status.
    """
    log = crash_log.CrashLog()
    status = _run(function, log)
    recorded = log.read()
    stage = recorded.get("stage", "source")
    if -status not in _CRASHES:
        if status < 0:
            _end_with(-status)
        if recorded.get("finished"):
            return status
        return _report(
            Error(
                stage,
                f"the model's code ended the process with status {status}",
                hint="search the model's code for os._exit, and raise an exception instead",
            ),
            recorded,
        )
    (cause, hint), repro = children.cause_of_death(status), None
    if stage in LOWERED and -status != signal.SIGKILL:
        again = crash_log.CrashLog(tracing=stage)
        if -_run(lambda: _silently(function), again) in _CRASHES:
            found = again.read()
            cause += f" (pass {found['step']})" if "step" in found else ""
            hint, repro = "report the reproducer to torch-mlir", found.get("repro")
    return _report(Error(stage, cause, hint=hint, repro=repro), recorded)


def _report(error: Error, recorded: dict[str, Any]) -> int:
    if recorded.get("json"):
        print(json.dumps(error.document(), indent=2))
    show_error(error)
    return error.exit_status


def _run(function: Callable[[], int], log: crash_log.CrashLog) -> int:
    """Runs `function` in a fork; returns its status, as `os.waitstatus_to_exitcode` does."""
    # Block the signals, so that none arrives between the fork and the wait. The fork unblocks them.
    waited = (*_FORWARDED, signal.SIGCHLD)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    pid = children.fork()
    if not pid:
        _work(function, log, before)
    try:
        while True:
            received = signal.sigwaitinfo(waited)
            if received.si_signo == signal.SIGCHLD:
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    return os.waitstatus_to_exitcode(status)
            # A terminal sends its signals to the whole process group: do not forward those.
            elif received.si_code <= 0:
                os.kill(pid, received.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(function: Callable[[], int], log: crash_log.CrashLog, mask: set[int]) -> NoReturn:
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    crash_log.record_in(log)
    try:
        status = function()
    finally:
        # If the log lacks this entry, the model's code has ended the process, as with os._exit.
        log.record(finished=True)
    sys.exit(status)


def _silently(function: Callable[[], int]) -> int:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (1, 2):
        os.dup2(nowhere, standard)
    return function()


def _end_with(number: int) -> NoReturn:
    """Ends this process with the signal that ended the fork, for its own parent to see."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    raise AssertionError(f"signal {number} does not end a process")
