"""What all commands have in common: their options, their streams, and how they fail."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import io
import json
import math
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

import click

from unmess.core import trail
from unmess.core.current_stage import listening
from unmess.core.error import STAGE_FAILED, Error
from unmess.core.failure import DEBUG_HINT, as_error, full_cause
from unmess.progress import Progress
from unmess.quiet import quiet_libraries

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from unmess.core.note import Note

# As shells report a process that SIGINT or SIGPIPE ended.
INTERRUPTED = 130
_BROKEN_PIPE = 141
# Tables that no terminal limits are not folded.
_WIDE = 240


@dataclass
class Session:
    """One run of a command.

    Attributes:
        out: the command's own stdout. `sys.stdout` is stderr meanwhile, since a model's code may
            print there.
        json: the result is one JSON document.
        verbose, debug: as the options.
        progress: on stderr.
        stage: the stage that began last.
    """

    out: TextIO
    json: bool
    verbose: bool
    debug: bool
    progress: Progress
    stage: str = field(default="usage", init=False)

    @contextlib.contextmanager
    def working(
        self, model: str, print_after: tuple[str, ...] = (), pytorch: bool = True
    ) -> Iterator[None]:
        """While a model is worked on in this process: shows the stages, silences the libraries.

        With `--debug`, or steps to print the IR after, the IR is verified after each step.

        Args:
            pytorch: whether the work needs PyTorch, which takes seconds to import.
        """

        def begin(stage: str) -> None:
            self.stage = stage
            self.progress.begin(f"{model}: {stage}")

        with self.progress.showing():
            # Importing it is the first thing that takes long.
            self.progress.begin(f"{model}: loading {'PyTorch' if pytorch else 'MLIR'}")
            if not (self.verbose or self.debug):
                quiet_libraries(pytorch)
            with listening(begin), self._debugging(print_after):
                yield

    @contextlib.contextmanager
    def _debugging(self, print_after: tuple[str, ...]) -> Iterator[None]:
        if not (self.debug or print_after):
            yield
            return
        # It imports MLIR.
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
        return console if console.is_terminal else Console(file=self.out, width=_WIDE)

    def fail(self, problem: BaseException) -> int:
        """Tells the user about `problem`; returns the exit status."""
        error = as_error(problem, self.stage)
        internal = not isinstance(problem, (Error, SystemExit))
        if self.debug:
            click.echo("".join(traceback.format_exception(problem)), err=True, nl=False)
        if self.json:
            self.write_json(error.document())
        if internal:
            click.echo(f"{error.cause} ({DEBUG_HINT})", err=True)
            return STAGE_FAILED
        show_error(error)
        if self.verbose and (cause := full_cause(problem)):
            click.echo(cause, err=True)
        return error.exit_status


def show_error(error: Error) -> None:
    """Prints an Error on stderr, its stage in colour where that is a terminal."""
    stage, rest = str(error).split(":", 1)
    click.echo(f"{click.style(stage, fg='red', bold=True)}:{rest}", err=True)


def command(function: Callable[..., int | None]) -> Callable[..., int]:
    """Gives a command the options of all commands, a Session, and one way to fail.

    `function` gets the Session first and its own parameters by keyword; it returns the exit
    status, None for 0.
    """

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
    @click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
    @click.option(
        "-v",
        "--verbose",
        is_flag=True,
        help="Show notes and whole causes, and let libraries print their warnings.",
    )
    @click.option(
        "--debug", is_flag=True, help="Show tracebacks, and verify the IR after each step."
    )
    @functools.wraps(function)
    def guarded(*, as_json: bool, quiet: bool, verbose: bool, debug: bool, **parameters) -> int:
        try:
            with _reserved_stdout() as out:
                trail.leave(json=as_json)
                if debug and not faulthandler.is_enabled():
                    faulthandler.enable()
                session = Session(out, as_json, verbose, debug, Progress(sys.stderr, quiet))
                try:
                    return function(session, **parameters) or 0
                except BrokenPipeError:
                    raise
                except (Exception, SystemExit) as problem:
                    return session.fail(problem)
        except BrokenPipeError:
            # The reader of stdout has gone, as `head` does: nobody is left to be told.
            return _BROKEN_PIPE
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            return INTERRUPTED

    return guarded


@contextlib.contextmanager
def _reserved_stdout() -> Iterator[TextIO]:
    """The process's stdout, to which nothing else writes while the block runs.

    What Python code or native code prints to stdout meanwhile goes to stderr.
    """
    sys.stdout.flush()
    try:
        descriptor, stderr = sys.stdout.fileno(), sys.stderr.fileno()
    except (AttributeError, io.UnsupportedOperation):
        # Replaced by an object in memory.
        own = sys.stdout
        with contextlib.redirect_stdout(sys.stderr):
            yield own
        return
    saved = os.dup(descriptor)
    os.dup2(stderr, descriptor)
    # Closing it writes what is left, so that a reader that has gone is noticed here.
    with open(saved, "w", encoding=sys.stdout.encoding, errors="backslashreplace") as own:
        try:
            yield own
        finally:
            sys.stdout.flush()
            os.dup2(saved, descriptor)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
