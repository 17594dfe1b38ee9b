"""Checks a model in a process of its own, so that a crash in native code costs one row.

The child captures the model once and runs all runners. It reports each stage as it begins, and
each row as it is finished, as JSON lines on a pipe of their own: stdout and stderr belong to
whatever code the model runs. When the child dies or takes too long, the stage reported last is the
one to blame, a fresh child writes the IR that went into that stage to a file, and another one goes
on with the remaining runners.

Neither side imports PyTorch before the child's work begins.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import os
import selectors
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unmess.core.error import Error
from unmess.core.failure import as_error, full_cause
from unmess.core.progress import listening
from unmess.core.row import Row
from unmess.quiet import quiet_libraries

# Until there is a program, what happens is the same for every runner.
_SHARED = ("source", "capture")
# The timed step that a stage counts for. Running is timed by its median instead.
_STEPS = {
    "capture": "capture",
    "import": "import",
    **dict.fromkeys(("torch", "linalg", "tosa", "stablehlo"), "lower"),
    "compile": "compile",
    "load": "load",
}
# The stage whose IR goes into a stage; from these on, there is something to reproduce a crash with.
_INPUT = {
    "torch": "raw",
    **dict.fromkeys(("linalg", "tosa", "stablehlo"), "torch"),
    **dict.fromkeys(("compile", "load", "run"), "linalg"),
}
# How often a silent child is looked at, and how long one may take to end after its last word.
_TICK_SECONDS = 0.5
_GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class Options:
    """How a model is checked.

    Attributes:
        strategy: of the capture.
        timeout: seconds for one runner, counted from the end of the one before it; for the first,
            the start of the process and the capture are included. None: no limit.
        verbose: let libraries print warnings and logs.
        debug: keep tracebacks, and print the Python stack of a crash.
    """

    strategy: str = "auto"
    timeout: float | None = None
    verbose: bool = False
    debug: bool = False


def check_isolated(
    model: str,
    runners: Sequence[str],
    options: Options,
    *,
    on_stage: Callable[[str, str | None], None],
    on_output: Callable[[str], None],
) -> Iterator[Row]:
    """Checks a model on each of `runners`, and yields each row when it is finished.

    Closing the iterator ends the process at work.

    Args:
        model: a model string.
        on_stage: called with each stage that begins, and the runner that it is for; the runner is
            None until there is a program.
        on_output: called with each line that the process prints to stdout or stderr.
    """
    remaining = list(runners)
    while remaining:
        with _Child(model, options, runners=remaining) as child:
            for row in child.rows(on_stage, on_output):
                remaining.remove(row.runner)
                yield row
        if child.death is None:
            return
        cause = f"{child.death} in stage {child.stage}"
        repro = None
        if child.stage in _INPUT:
            crash = {"stage": child.stage, "runner": remaining[0], "cause": cause}
            with _Child(model, options, crash=crash) as reproducer:
                # No rows come from it, and what it prints has been seen.
                list(reproducer.rows(lambda _stage, _runner: None, lambda _line: None))
            repro = reproducer.repro
        error = Error(child.stage, cause, hint=child.hint, repro=repro)
        affected = list(remaining) if child.stage in _SHARED else remaining[:1]
        for runner in affected:
            remaining.remove(runner)
            yield child.last_row(runner, error)


class _Child:
    """One process that checks a model, seen from outside.

    Attributes:
        stage: the stage that began last.
        death: how it ended, where it had not finished; `hint` belongs to it.
        repro: path of the reproducer, where the process was to write one.
    """

    def __init__(
        self,
        model: str,
        options: Options,
        *,
        runners: Sequence[str] = (),
        crash: dict[str, str] | None = None,
    ):
        """Starts the process: it checks `runners`, or writes a reproducer for `crash`."""
        self._model = model
        self._options = options
        self._clock = _Clock()
        self._runner: str | None = None
        self._notes: list[str] = []
        self._finished = False
        self._timed_out = False
        self._peak_rss_mb: float | None = None
        self.stage = _SHARED[0]
        self.death: str | None = None
        self.hint: str | None = None
        self.repro: str | None = None
        request = {
            "model": model,
            "options": asdict(options),
            "runners": list(runners),
            "crash": crash,
        }
        self._events, theirs = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(theirs), json.dumps(request)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs,),
                env=_environment(),
                # Ctrl-C is for this side, which ends the child; and what the child has started
                # can be ended with it.
                start_new_session=True,
            )
        finally:
            os.close(theirs)

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._end()
        self._process.stdout.close()
        os.close(self._events)

    def rows(
        self, on_stage: Callable[[str, str | None], None], on_output: Callable[[str], None]
    ) -> Iterator[Row]:
        """Yields the rows as they are finished, until the process ends or time is up."""
        output = self._process.stdout.fileno()
        lines = {self._events: _Lines(), output: _Lines()}
        deadline = self._deadline()
        with selectors.DefaultSelector() as selector:
            for pipe in lines:
                os.set_blocking(pipe, False)
                selector.register(pipe, selectors.EVENT_READ)
            while not self._finished:
                left = deadline - time.monotonic()
                if left <= 0:
                    self._timed_out = True
                    break
                # Asked first: what it wrote before it ended is still read below.
                ended = self._has_ended()
                ready = selector.select(0 if ended else min(left, _TICK_SECONDS))
                if ended and not ready:
                    break
                for key, _ in ready:
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        selector.unregister(key.fd)
                    for line in lines[key.fd].feed(data):
                        if key.fd == output:
                            on_output(line)
                        elif row := self._take(json.loads(line), on_stage):
                            deadline = self._deadline()
                            yield row
        self._end()
        with contextlib.suppress(BlockingIOError):
            while data := os.read(output, 1 << 16):
                for line in lines[output].feed(data):
                    on_output(line)
        for line in lines[output].feed(b"\n"):
            if line:
                on_output(line)

    def last_row(self, runner: str, error: Error) -> Row:
        """The row for a runner that this process did not get through."""
        return Row.failed(
            self._model,
            runner,
            error,
            seconds=self._clock.seconds(),
            peak_rss_mb=self._peak_rss_mb,
            notes=self._notes,
        )

    def _end(self) -> None:
        """Sees to it that the process and what it started are gone."""
        if self._process.returncode is not None:
            return
        grace = _GRACE_SECONDS if self._finished else 0.0
        until = time.monotonic() + grace
        while not self._has_ended() and time.monotonic() < until:
            time.sleep(0.01)
        # The process is not reaped yet, so the number of its group is still its own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._peak_rss_mb = usage.ru_maxrss * 1024 / 1e6
        if not self._finished:
            self.death, self.hint = self._cause_of_death(self._process.returncode)

    def _deadline(self) -> float:
        timeout = self._options.timeout
        return float("inf") if timeout is None else time.monotonic() + timeout

    def _has_ended(self) -> bool:
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return os.waitid(os.P_PID, self._process.pid, flags) is not None

    def _take(
        self, event: dict[str, Any], on_stage: Callable[[str, str | None], None]
    ) -> Row | None:
        """Takes note of an event; the row, where it is one."""
        if "row" in event:
            return Row(**event["row"])
        if "runner" in event:
            self._runner, self._notes = event["runner"], event["notes"]
            self._clock.begin_runner()
        elif "stage" in event:
            self.stage = event["stage"]
            self._clock.enter(self.stage)
            on_stage(self.stage, self._runner)
        elif "repro" in event:
            self.repro = event["repro"]
        else:
            self._finished = event["finished"]
        return None

    def _cause_of_death(self, status: int) -> tuple[str, str]:
        if self._timed_out:
            return f"timed out after {self._options.timeout:g} s", "allow more with --timeout"
        if status == -signal.SIGKILL:
            return (
                "crashed with SIGKILL",
                "the system may have run out of memory: "
                f"the process had used up to {self._peak_rss_mb:,.0f} MB",
            )
        if status < 0:
            name = signal.Signals(-status).name
            return f"crashed with {name}", "run again with --debug for Python's stack at the crash"
        return f"the process ended with status {status}", "does the model's code end it?"


def _environment() -> dict[str, str]:
    """This process's environment, with its module search path."""
    # What `python -m` would put in front instead, the current folder, may hold a `queue.py`.
    path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    return {**os.environ, "PYTHONPATH": path}


class _Lines:
    """Takes bytes in any portions, gives whole lines of text without their ends."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode(errors="replace") for line in lines]


class _Clock:
    """Time by step, from the moments at which stages begin."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._stage: str | None = None
        self._since = 0.0

    def enter(self, stage: str) -> None:
        """Ends the stage before, and begins `stage`."""
        now = time.perf_counter()
        step = _STEPS.get(self._stage)
        if step is not None:
            self._seconds[step] = self._seconds.get(step, 0.0) + now - self._since
        self._stage, self._since = stage, now

    def begin_runner(self) -> None:
        """Forgets everything but the capture, which is for all runners."""
        self.enter("")
        self._seconds = {step: self._seconds[step] for step in self._seconds if step == "capture"}

    def seconds(self) -> dict[str, float]:
        """Of the steps whose stages have all ended."""
        current = _STEPS.get(self._stage)
        return {step: value for step, value in self._seconds.items() if step != current}


# The child's side.


def main() -> None:
    """Checks the model that the command line names: a file descriptor for events, and a request."""
    descriptor, request = int(sys.argv[1]), json.loads(sys.argv[2])
    os.set_inheritable(descriptor, False)
    _end_with_parent()
    options = Options(**request["options"])
    if options.debug:
        faulthandler.enable()
    if not (options.debug or options.verbose):
        quiet_libraries()
    # What the model's code prints is seen when it is printed, and not lost in a crash.
    sys.stdout.reconfigure(line_buffering=True)
    with open(descriptor, "w", buffering=1) as events:
        work = _Work(request["model"], options, lambda event: print(json.dumps(event), file=events))
        if request["crash"]:
            work.reproduce(**request["crash"])
        else:
            work.check(request["runners"])
        work.send({"finished": True})
    sys.stdout.flush()
    sys.stderr.flush()
    # The results are delivered; what native libraries do at the end of a process is of no use.
    os._exit(0)


class _Work:
    """Checks one model, and sends what happens."""

    def __init__(self, model: str, options: Options, send: Callable[[dict[str, Any]], None]):
        self._model = model
        self._options = options
        self._clock = _Clock()
        self._stage = _SHARED[0]
        self.send = send

    def check(self, runners: Sequence[str]) -> None:
        """Captures the model once and checks it on each runner."""
        with listening(self._enter):
            try:
                import unmess

                program = unmess.capture(self._model, strategy=self._options.strategy)
            except (Exception, SystemExit) as problem:
                for runner in runners:
                    self._send_failure(runner, problem, [])
                return
            notes = [str(note) for note in program.notes]
            capture_peak = _peak_rss_mb()
            for runner in runners:
                self.send({"runner": runner, "notes": notes})
                self._clock.begin_runner()
                _reset_peak_rss()
                try:
                    report = unmess.check(program, on=runner)
                except (Exception, SystemExit) as problem:
                    self._send_failure(runner, problem, notes, capture_peak)
                    continue
                self._send_row(
                    Row(
                        self._model,
                        runner,
                        ok=report.ok,
                        stage="done" if report.ok else "compare",
                        error=report.error,
                        max_abs_error=report.max_abs_error,
                        max_rel_error=report.max_rel_error,
                        seconds=report.seconds,
                        peak_rss_mb=max(capture_peak, _peak_rss_mb()),
                        notes=[str(note) for note in report.notes],
                    )
                )

    def reproduce(self, stage: str, runner: str, cause: str) -> None:
        """Writes the IR that goes into `stage` on `runner` to a file, and sends its path."""
        import unmess
        from unmess.core.cache import write_reproducer

        program = unmess.capture(self._model, strategy=self._options.strategy)
        module = unmess.lower(program, to=_INPUT[stage])
        command, text = f"unmess-opt --pipeline {stage} THIS_FILE", module.text(locations=True)
        if module.stage == "linalg" and runner.startswith("iree-"):
            from pipelines.iree.parameters import with_parameters
            from pipelines.iree.targets import TARGETS

            command = f"iree-compile {' '.join(TARGETS[runner].options)} THIS_FILE -o /dev/null"
            text = with_parameters(module).operation.get_asm(enable_debug_info=True)
        elif module.stage == "linalg":
            command = f"unmess-opt --pipeline {runner} THIS_FILE"
        header = f"// {self._model} on {runner}: {cause}\n// {command}\n"
        path = write_reproducer(f"{header}{text}", f"{program.name}-{runner}-{stage}")
        self.send({"repro": path})

    def _enter(self, stage: str) -> None:
        self._stage = stage
        self._clock.enter(stage)
        self.send({"stage": stage})

    def _send_failure(
        self, runner: str, problem: BaseException, notes: list[str], peak_before: float = 0.0
    ) -> None:
        debug = self._options.debug
        self._send_row(
            Row.failed(
                self._model,
                runner,
                as_error(problem, self._stage),
                seconds=self._clock.seconds(),
                peak_rss_mb=max(peak_before, _peak_rss_mb()),
                notes=notes,
                detail=full_cause(problem),
                traceback="".join(traceback.format_exception(problem)) if debug else None,
            )
        )

    def _send_row(self, row: Row) -> None:
        self.send({"row": asdict(row)})


def _end_with_parent() -> None:
    """Has the system kill this process when its parent ends, however that happens."""
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)


def _reset_peak_rss() -> None:
    """Starts the measurement of peak memory anew; where that is not allowed, it goes on."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _peak_rss_mb() -> float:
    """Peak memory since the measurement began, in 10**6 bytes."""
    with open("/proc/self/status") as file:
        kilobytes = next(line.split()[1] for line in file if line.startswith("VmHWM:"))
    return int(kilobytes) * 1024 / 1e6


if __name__ == "__main__":
    main()
