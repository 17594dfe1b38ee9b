"""The standard streams of a command: messages, a reserved stdout, and write errors."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

import click

from unmess.core.errors.error import Error


def say(text: str) -> None:
    """Prints a message on stderr. Ignores write errors: the exit status is enough."""
    try:
        click.echo(text, err=True)
    except OSError:
        drop(sys.stderr)


def show_error(error: Error) -> None:
    """Prints an Error on stderr, its stage in color if that is a terminal."""
    stage, rest = str(error).split(":", 1)
    say(f"{click.style(stage, fg='red', bold=True)}:{rest}")


def drop(stream: TextIO) -> None:
    """Discards a stream's unwritten output. Otherwise Python fails to write it when it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def open_closed_streams() -> None:
    """Opens standard streams that the caller has closed, on the null device.

    Otherwise, the next file that is opened gets the descriptor of a closed stream, and with it the
    text that is printed to that stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


class Unwritable(Exception):
    """The command's result could not be written to stdout."""

    def report(self) -> int:
        """Tells the user; returns the exit status."""
        error = Error(
            "usage",
            f"cannot write to stdout: {self}",
            hint="free some space, or redirect stdout to another place",
        )
        show_error(error)
        return error.exit_status


class _Stdout(io.FileIO):
    """A file that raises Unwritable on write errors, to distinguish them from other OSErrors."""

    def write(self, content) -> int:
        try:
            return super().write(content)
        except BrokenPipeError:
            raise
        except OSError as problem:
            raise Unwritable(problem.strerror) from problem


@contextlib.contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """Yields the process's stdout, to which nothing else writes while the block runs.

    Text that Python code or native code prints to stdout meanwhile goes to stderr.
    """
    sys.stdout.flush()
    try:
        descriptor, stderr = sys.stdout.fileno(), sys.stderr.fileno()
    except (AttributeError, io.UnsupportedOperation):
        # A stream was replaced by an object in memory.
        own = sys.stdout
        with contextlib.redirect_stdout(sys.stderr):
            yield own
        return
    saved = os.dup(descriptor)
    os.dup2(stderr, descriptor)
    # Closing it flushes the buffer, so that a broken pipe is raised here.
    raw = io.BufferedWriter(_Stdout(saved, "w"))
    with io.TextIOWrapper(
        raw,
        encoding=sys.stdout.encoding,
        errors="backslashreplace",
        line_buffering=os.isatty(saved),
    ) as own:
        try:
            yield own
        finally:
            sys.stdout.flush()
            os.dup2(saved, descriptor)
