"""Two ways to start the process that checks a model: anew, or as a fork of this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from dataclasses import dataclass
from typing import Any

from unmess.core import processes


@dataclass
class Process:
    """A process with a session of its own, to be reaped by who started it.

    Attributes:
        pid: also the number of its process group, with which all that it started can be ended.
        output: file descriptor that its stdout and stderr are read from.
        status: as `os.waitstatus_to_exitcode` has it; None until it is reaped.
    """

    pid: int
    output: int
    status: int | None = None


def start(request: dict[str, Any], events: int) -> Process:
    """Starts a fresh interpreter, which writes to the file descriptor `events`."""
    read, write = os.pipe()
    try:
        process = subprocess.Popen(
            processes.command("unmess.isolated.work", str(events), json.dumps(request)),
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=write,
            pass_fds=(events,),
            env=processes.environment(),
            # Ctrl-C is for this side, which ends the child; and what the child has started can be
            # ended with it.
            start_new_session=True,
        )
    finally:
        os.close(write)
    # The pid is reaped by `Child`, which also wants the memory that the process used.
    process.returncode = 0
    return Process(process.pid, read)


def fork(request: dict[str, Any], events: int) -> Process:
    """Forks this process, with all that it has imported.

    That saves the seconds that importing the libraries takes. This process must not have run
    anything in parallel: the threads of OpenMP do not survive a fork.
    """
    from unmess.isolated.work import work

    read, write = os.pipe()
    # What is buffered here would be printed by the child, too.
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(write)
        return Process(pid, read)
    try:
        os.setsid()
        os.close(read)
        nowhere = os.open(os.devnull, os.O_RDONLY)
        for descriptor, standard in ((nowhere, 0), (write, 1), (write, 2)):
            os.dup2(descriptor, standard)
        work(events, request)
    except BaseException:
        traceback.print_exc()
    finally:
        # `work` ends the process, unless it could not even begin.
        os._exit(1)
