"""Checks a model. This is the code that runs in the worker."""

from __future__ import annotations

import contextlib
import faulthandler
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from unmess.core.current_stage import listening
from unmess.core.failure import as_error, full_cause
from unmess.core.quiet import quiet_libraries, show_libraries
from unmess.core.row import Row
from unmess.core.target_options import TargetOptions
from unmess.isolated.clock import Clock
from unmess.isolated.options import INPUT, SHARED, Options

if TYPE_CHECKING:
    from unmess.compare import Report
    from unmess.core.program import Program


def check(
    send: Callable[[dict[str, Any]], None], model: str, options: Options, runners: Sequence[str]
) -> None:
    """Checks a model on runners, and sends each stage that begins and each row."""
    _Work(model, options, send).check(runners)


def reproduce(
    send: Callable[[dict[str, Any]], None],
    model: str,
    options: Options,
    stage: str,
    runner: str,
    cause: str,
) -> None:
    """Writes a reproducer for a crash, and sends its path."""
    _Work(model, options, send).reproduce(stage, runner, cause)


class _Work:
    """Checks one model, and sends stages and rows as they occur."""

    def __init__(self, model: str, options: Options, send: Callable[[dict[str, Any]], None]):
        self._model = model
        self._options = options
        self._clock = Clock()
        self._stage = SHARED[0]
        self._send = send
        if options.debug:
            faulthandler.enable()
        if options.debug or options.verbose:
            show_libraries()
        else:
            quiet_libraries()
        # Flush each line that the model's code prints, so that a crash does not lose it.
        sys.stdout.reconfigure(line_buffering=True)

    def check(self, runners: Sequence[str]) -> None:
        """Captures the model once and checks it on each runner."""
        with listening(self._enter), self._debugging():
            try:
                import unmess

                program = self._capture()
            except KeyboardInterrupt:
                raise
            except BaseException as problem:
                for runner in runners:
                    self._send_failure(runner, problem, [])
                return
            notes = [str(note) for note in program.notes]
            target = TargetOptions(cpu=self._options.cpu, preset=self._options.preset)
            capture_peak = _peak_rss_mb()
            for runner in runners:
                self._send({"runner": runner, "notes": notes})
                self._clock.begin_runner()
                _reset_peak_rss()
                try:
                    report = unmess.check(
                        program,
                        on=runner,
                        target=target,
                        via=self._options.via,
                        unchecked=self._options.unchecked,
                    )
                except KeyboardInterrupt:
                    raise
                except BaseException as problem:
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
                        sizes=[asdict(check) for check in report.sizes],
                        via=report.via,
                        with_plain=_with_plain(report),
                    )
                )

    def reproduce(self, stage: str, runner: str, cause: str) -> None:
        """Writes the IR that goes into `stage` on `runner` to a file, and sends its path."""
        import unmess
        from unmess.core.reproducer import write_reproducer

        program = self._capture()
        via, of_iree = self._options.via or "linalg", runner.startswith("iree-")
        if INPUT[stage] == "linalg" or (stage == "linalg" and via != "linalg"):
            module = unmess.lower(program, to=via)
        else:
            module = unmess.lower(program, to=INPUT[stage])
        pipeline = stage if module.stage in ("raw", "torch") else f"{module.stage}-to-{stage}"
        command, text = f"unmess-opt --pipeline {pipeline} THIS_FILE", module.text(locations=True)
        if INPUT[stage] == "linalg" and of_iree:
            from importers.import_program import import_program
            from pipelines.iree.compiler import command_for, options_for, text_for
            from pipelines.iree.presets import PRESETS, preset_for, tuned_preset
            from pipelines.iree.targets import target
            from pipelines.iree.vm_module import program_key

            chosen = target(
                runner, TargetOptions(cpu=self._options.cpu, preset=self._options.preset)
            )
            tuned = tuned_preset(program_key(import_program(program), runner, chosen))
            preset = PRESETS[chosen.preset or tuned or preset_for(module)]
            command = command_for(options_for(module, chosen, preset))
            text = text_for(module, chosen, preset)
        elif INPUT[stage] == "linalg":
            to_linalg = f"--pipeline {via}-to-linalg " if via != "linalg" else ""
            command = f"unmess-opt {to_linalg}--pipeline {runner} THIS_FILE"
        header = f"// {self._model} on {runner}: {cause}\n// {command}\n"
        path = write_reproducer(f"{header}{text}", f"{program.name}-{runner}-{stage}")
        self._send({"repro": path})

    def _capture(self) -> Program:
        from unmess.captured import captured

        options = self._options
        return captured(
            self._model,
            options.inputs,
            options.dynamic,
            options.strategy,
            trust=options.trust,
        )

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
                via=self._options.via,
            )
        )

    def _send_row(self, row: Row) -> None:
        self._send({"row": asdict(row)})


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
