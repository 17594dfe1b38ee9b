"""Options, streams and error handling that all commands share."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import json
import math
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

import click

from unmess.cli.exit_status import BROKEN_PIPE, INTERRUPTED
from unmess.cli.streams import Unwritable, reserved_stdout, say, show_error
from unmess.core.errors.error import STAGE_FAILED, Error
from unmess.core.errors.failure import DEBUG_HINT, as_error, full_cause
from unmess.core.processes import crash_log
from unmess.core.processes.current_stage import listening
from unmess.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from unmess.core.program.note import Note

# Width of tables outside a terminal: wide enough that cells are not folded.
_WIDE = 240


@dataclass
class Session:
    """One run of a command.

    Attributes:
        out: the process's stdout, for results. `sys.stdout` writes to stderr during the command,
            because a model's code may print.
        json: whether to write the result as one JSON document.
        verbose, debug: the options of these names.
        progress: shows progress on stderr.
        stage: the stage that was entered last.
    """

    out: TextIO
    json: bool
    verbose: bool
    debug: bool
    progress: Progress
    stage: str = field(default="usage", init=False)

    @contextlib.contextmanager
    def working(
        self,
        model: str,
        print_after: tuple[str, ...] = (),
        pytorch: bool = True,
        is_model: bool = True,
    ) -> Iterator[None]:
        """Shows the stages and silences the libraries while the block works on a model.

        With `--debug` or `print_after`, also verifies the IR after each step.

        Args:
            pytorch: whether the work needs PyTorch, which takes seconds to import.
            is_model: whether `model` is a model string. A wrong one is reported before PyTorch is
                imported.

        Raises:
            Error: stage `source`, if `model` is not a valid model string.
        """
        if is_model:
            # Imported here: the import takes 50 ms, which other commands need not spend.
            from importers.sources.model_string import check_model_string

            check_model_string(model)
        # Imported here: commands that work on no model need neither it nor `logging`.
        from unmess.core.errors.quiet import quiet_libraries, show_pytorch_messages

        def begin(stage: str) -> None:
            self.stage = stage
            self.progress.begin(f"{model}: {stage}")

        with self.progress.showing():
            # Importing PyTorch or MLIR is the first slow step.
            self.progress.begin(f"{model}: loading {'PyTorch' if pytorch else 'MLIR'}")
            if self.verbose or self.debug:
                show_pytorch_messages()
            else:
                quiet_libraries(pytorch)
            with listening(begin), self._debugging(print_after):
                yield

    @contextlib.contextmanager
    def _debugging(self, print_after: tuple[str, ...]) -> Iterator[None]:
        if not (self.debug or print_after):
            yield
            return
        # Imported here, because it imports MLIR.
        from pipelines.debugging import debugging

        with debugging(print_after, self.progress.line):
            yield

    def write_json(self, document: Any) -> None:
        """Writes the result as JSON; numbers that JSON lacks (NaN, infinity) become null."""
        json.dump(_without_nan(document), self.out, indent=2, allow_nan=False)
        self.out.write("\n")
        self.out.flush()

    def write(self, text: str) -> None:
        """Writes text that is part of the result."""
        self.out.write(text if text.endswith("\n") else f"{text}\n")
        self.out.flush()

    def write_piece(self, text: str) -> None:
        """Writes part of a line, at once."""
        self.out.write(text)
        self.out.flush()

    def say_notes(self, notes: Iterable[Note | str]) -> None:
        """With `--verbose`, prints the notes on stderr."""
        if self.verbose:
            for note in notes:
                self.progress.line(f"note: {note}")

    def write_table(self, table: Table) -> None:
        """Writes a table as part of the result."""
        self._console().print(table)
        self.out.flush()

    def fits(self, table: Table) -> bool:
        """Whether the table can be written without folding or cutting it."""
        console = self._console()
        return (
            console.measure(table, options=console.options.update(max_width=_WIDE)).maximum
            <= console.width
        )

    def _console(self) -> Console:
        from rich.console import Console

        console = Console(file=self.out)
        if not console.is_terminal:
            console = Console(file=self.out, width=_WIDE)
        # By default, Rich ends the process.
        console.on_broken_pipe = _raise_again
        return console

    def fail(self, problem: BaseException) -> int:
        """Reports `problem` to the user; returns the exit status."""
        error = as_error(problem, self.stage)
        internal = not isinstance(problem, Error) and error.hint == DEBUG_HINT
        if self.debug:
            say("".join(traceback.format_exception(problem)).rstrip())
        if self.json:
            self.write_json(error.document())
        if internal:
            say(f"{error.cause} ({DEBUG_HINT})")
            return STAGE_FAILED
        show_error(error)
        if self.verbose and (cause := full_cause(problem)):
            say(cause)
        return error.exit_status


def _raise_again() -> None:
    raise


def command(function: Callable[..., int | None]) -> Callable[..., int]:
    """Adds the common options, a Session and the common error handling to a command.

    `function` gets the Session first and its own parameters by keyword; it returns the exit
    status, None for 0.
    """

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
    @click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
    @click.option(
        "-v",
        "--verbose",
        is_flag=True,
        help="Show notes and complete causes, and let libraries print their warnings.",
    )
    @click.option(
        "--debug", is_flag=True, help="Show tracebacks, and verify the IR after each step."
    )
    @functools.wraps(function)
    def guarded(*, as_json: bool, quiet: bool, verbose: bool, debug: bool, **parameters) -> int:
        try:
            with reserved_stdout() as out:
                crash_log.record(json=as_json)
                if debug and not faulthandler.is_enabled():
                    faulthandler.enable()
                session = Session(out, as_json, verbose, debug, Progress(sys.stderr, quiet))
                try:
                    return function(session, **parameters) or 0
                except (BrokenPipeError, KeyboardInterrupt, Unwritable):
                    raise
                except BaseException as problem:
                    return session.fail(problem)
        except BrokenPipeError:
            # The reader of stdout, such as `head`, has closed the pipe: print no message.
            return BROKEN_PIPE
        except Unwritable as problem:
            return problem.report()
        except KeyboardInterrupt:
            say("interrupted")
            return INTERRUPTED

    return guarded


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
