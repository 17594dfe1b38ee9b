"""Checks a model. This is the code that runs in the worker.

The process that waits imports this file, too, so the libraries are imported when the work begins.
"""

from __future__ import annotations

import contextlib
import faulthandler
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from unmess.core.errors.failure import as_error, full_cause
from unmess.core.errors.model_sources import source_text
from unmess.core.errors.quiet import quiet_libraries, show_pytorch_messages
from unmess.core.options.target_options import TargetOptions
from unmess.core.processes.children import limit_memory
from unmess.core.processes.current_stage import listening
from unmess.isolated.clock import Clock
from unmess.isolated.options import INPUT, SHARED, Options, Place
from unmess.row import Row

if TYPE_CHECKING:
    from unmess.compare import Report
    from unmess.core.program.program import Program


def check(
    send: Callable[[dict[str, Any]], None], model: str, options: Options, places: Sequence[Place]
) -> None:
    """Checks a model at places, and sends each stage that begins and each row."""
    _Work(model, options, send).check(places)


def reproduce(
    send: Callable[[dict[str, Any]], None],
    model: str,
    options: Options,
    stage: str,
    runner: str,
    via: str | None,
    cause: str,
) -> None:
    """Writes a reproducer for a crash, and sends its path."""
    _Work(model, options, send).reproduce(stage, runner, via, cause)


class _Work:
    """Checks one model, and sends stages and rows as they occur."""

    def __init__(self, model: str, options: Options, send: Callable[[dict[str, Any]], None]):
        self._model = model
        self._options = options
        self._clock = Clock()
        self._stage = SHARED[0]
        self._send = send
        self._operators: list[str] | None = None
        if options.debug:
            faulthandler.enable()
        if options.debug or options.verbose:
            show_pytorch_messages()
        else:
            quiet_libraries()
        limit_memory(options.memory_mb)
        # Flush each line that the model's code prints, so that a crash does not lose it.
        sys.stdout.reconfigure(line_buffering=True)

    def check(self, places: Sequence[Place]) -> None:
        """Captures the model once and checks it at each place."""
        with listening(self._enter), self._debugging():
            try:
                import unmess

                program = self._capture()
            except KeyboardInterrupt:
                raise
            except BaseException as problem:
                for place in places:
                    self._send_failure(place, problem, [])
                return
            notes = [str(note) for note in program.notes]
            if self._options.list_operators:
                self._operators = _operators_of(program)
            target = TargetOptions(cpu=self._options.cpu, preset=self._options.preset)
            capture_peak = _peak_rss_mb()
            for runner, via in places:
                self._send({"runner": runner, "notes": notes, "operators": self._operators})
                self._clock.begin_runner()
                _reset_peak_rss()
                try:
                    report = unmess.check(
                        program,
                        on=runner,
                        target=target,
                        via=via,
                        unchecked=self._options.unchecked,
                        fallback=self._options.fallback,
                        allow_ops=self._options.allow_ops,
                        deny_ops=self._options.deny_ops,
                    )
                except KeyboardInterrupt:
                    raise
                except BaseException as problem:
                    self._send_failure((runner, via), problem, notes, capture_peak)
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
                        max_element_error=report.max_element_error,
                        seconds=report.seconds,
                        peak_rss_mb=max(capture_peak, _peak_rss_mb()),
                        notes=[str(note) for note in report.notes],
                        sizes=[asdict(check) for check in report.sizes],
                        via=report.via,
                        with_plain=_with_plain(report),
                        operators=self._operators,
                    )
                )

    def reproduce(self, stage: str, runner: str, via: str | None, cause: str) -> None:
        """Writes the IR that goes into `stage` at a place to a file, and sends its path."""
        import unmess
        from unmess.core.cache.reproducer import write_reproducer

        program = self._capture()
        if INPUT[stage] == "linalg":
            command, text = self._backend_input(program, runner, via)
        else:
            is_after_via = stage == "linalg" and via not in (None, "linalg")
            module = unmess.lower(program, to=via if is_after_via else INPUT[stage])
            early = module.stage in ("raw", "torch")
            pipeline = stage if early else f"{module.stage}-to-{stage}"
            command = f"unmess-opt --pipeline {pipeline} THIS_FILE"
            text = module.text(locations=True)
        header = f"// {self._model} on {runner}: {cause}\n// {command}\n"
        path = write_reproducer(f"{header}{text}", f"{program.name}-{runner}-{stage}")
        self._send({"repro": path})

    def _backend_input(self, program: Program, runner: str, via: str | None) -> tuple[str, str]:
        """Returns the command that repeats a backend's compilation, and its input."""
        import unmess
        from pipelines.backends.finding import find_backend
        from pipelines.backends.preparing import prepared

        backend = find_backend(runner)
        module = program.to_module() if via is None else unmess.lower(program, to=via)
        if hasattr(backend, "configured"):
            target = TargetOptions(cpu=self._options.cpu, preset=self._options.preset)
            backend = backend.configured(target, self._options.unchecked)
        if hasattr(backend, "reproducer"):
            return backend.reproducer(module)
        if backend.input.stage is not None:
            module = prepared(module, backend.input)
        return f"the input of {backend.name}", module.text(locations=True)

    def _capture(self) -> Program:
        from unmess.captured import captured

        return captured(self._model, **self._options.of_capture())

    def _debugging(self) -> contextlib.AbstractContextManager[None]:
        if not self._options.debug:
            return contextlib.nullcontext()
        # Imported here, because it imports MLIR.
        from pipelines.debugging import debugging

        return debugging()

    def _enter(self, stage: str) -> None:
        self._stage = stage
        self._clock.enter(stage)
        self._send({"stage": stage})

    def _send_failure(
        self, place: Place, problem: BaseException, notes: list[str], peak_before: float = 0.0
    ) -> None:
        runner, via = place
        debug = self._options.debug
        error = as_error(problem, self._stage)
        self._send_row(
            Row.failed(
                self._model,
                runner,
                error,
                seconds=self._clock.seconds(),
                peak_rss_mb=max(peak_before, _peak_rss_mb()),
                notes=notes,
                detail=full_cause(problem),
                traceback="".join(traceback.format_exception(problem)) if debug else None,
                via=via,
                operators=self._operators,
                source=source_text(error.where) or None,
            )
        )

    def _send_row(self, row: Row) -> None:
        self._send({"row": asdict(row)})


def _operators_of(program: Program) -> list[str] | None:
    """Returns the names of the operators in the captured graphs; None without a graph."""
    from importers.captured_program import is_captured

    if not is_captured(program):
        return None
    return sorted(
        {
            str(node.target)
            for entry in program.entries.values()
            for module in entry.exported.graph_module.modules()
            if hasattr(module, "graph")
            for node in module.graph.nodes
            if node.op == "call_function" and hasattr(node.target, "overloadpacket")
        }
    )


def _with_plain(report: Report) -> dict[str, Any] | None:
    check = report.with_plain
    return None if check is None else {**asdict(check), "text": str(check)}


def _reset_peak_rss() -> None:
    """Resets the peak memory of this process, if the system allows it."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _peak_rss_mb() -> float:
    """Returns the peak memory since the last reset, in 10**6 bytes."""
    with open("/proc/self/status") as file:
        kilobytes = next(line.split()[1] for line in file if line.startswith("VmHWM:"))
    return int(kilobytes) * 1024 / 1e6
