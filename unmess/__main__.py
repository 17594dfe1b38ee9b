"""`python -m unmess`, and what the `unmess` script calls."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

# As shells report a process that SIGINT ended.
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit status.

    Args:
        arguments: None for this process's own, which then runs in a fork of it.
    """
    if arguments is None:
        from unmess.cli.supervision import supervised

        return supervised(lambda: main(sys.argv[1:]))
    try:
        from unmess.cli import cli

        return cli.main(arguments, prog_name="unmess", standalone_mode=False) or 0
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
