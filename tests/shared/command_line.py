"""Runs command lines of `unmess` and Python in forks of a process with the libraries imported.

Also parses command lines without running them.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from unmess.cli import cli
from unmess.core.processes.workers import Parent, Worker


class CommandLine:
    """Runs command lines, each in a process of its own.

    Starting `python -m unmess` takes several seconds, because it imports the libraries. A fork
    already has them. Otherwise the process is like one started by a shell: it has its own
    arguments, environment, folder, output and exit status. All processes that it started end with
    it.
    """

    def __init__(self, parent: Parent, main: Callable[[Any], int | None], program: str):
        """Creates a callable that runs one program.

        Args:
            parent: the process to fork.
            main: the program: `unmess` or `python` of this file.
            program: the name of the program.
        """
        self._parent = parent
        self._main = main
        self._program = program

    def __call__(
        self,
        *arguments: Any,
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 300,
    ) -> subprocess.CompletedProcess:
        """Runs the program. Returns the same as `subprocess.run` with text output.

        Args:
            cwd, env, timeout: as for `subprocess.run`.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            with self.start(
                *arguments, stdout=out.fileno(), stderr=err.fileno(), folder=cwd, environment=env
            ) as worker:
                try:
                    status = worker.wait(timeout)
                except TimeoutError:
                    output = (_text(out), _text(err))
                    argv = self._argv(arguments)
                    raise subprocess.TimeoutExpired(argv, timeout, *output) from None
            return subprocess.CompletedProcess(
                self._argv(arguments), status, _text(out), _text(err)
            )

    def start(self, *arguments: Any, **settings: Any) -> Worker:
        """Starts the program, and returns its process, which leads a process group.

        Args:
            settings: file descriptors and others, as for `Parent.start`.
        """
        return self._parent.start(self._main, argv=self._argv(arguments), **settings)

    def _argv(self, arguments: tuple[Any, ...]) -> list[str]:
        return [self._program, *map(str, arguments)]


def parsed(command: click.Command, name: str, arguments: list[str]) -> click.Context:
    """Returns the context of a command of `unmess` with these arguments.

    A command keeps the help option that its first context has, so this one needs its parent.
    """
    parent = click.Context(cli, info_name="unmess", **cli.context_settings)
    return command.make_context(name, arguments, parent=parent)


def unmess(send: Callable[[Any], None]) -> int:
    """Does the same as `python -m unmess`."""
    from unmess.__main__ import main

    return main()


def python(send: Callable[[Any], None]) -> None:
    """Does the same as `python FILE ARGUMENT...`."""
    del sys.argv[0]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


def _text(file: Any) -> str:
    file.seek(0)
    return file.read().decode()
