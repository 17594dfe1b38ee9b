"""The entry point of `python -m unmess` and of the `unmess` script."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

import click

from unmess.cli.exit_status import BROKEN_PIPE, INTERRUPTED
from unmess.cli.streams import Unwritable, drop, open_closed_streams


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit status.

    Args:
        arguments: the command line; None: the arguments of this process, which run in a fork of it.
    """
    if arguments is None:
        open_closed_streams()
        # Imports and captures create many objects, few of them in cycles. With Python's default
        # thresholds of 700, 10 and 10, garbage collection takes a tenth of their time.
        gc.set_threshold(20_000, 20, 20)
        from unmess.cli.supervision import supervised

        return supervised(lambda: main(sys.argv[1:]))
    try:
        from unmess.cli import cli

        try:
            return cli.main(arguments, prog_name="unmess", standalone_mode=False) or 0
        finally:
            # Write the help or the version now, so that errors are raised here.
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        # Click raises SystemExit in one case: the reader of the help has closed the pipe.
        drop(sys.stdout)
        return BROKEN_PIPE
    except OSError as problem:
        drop(sys.stdout)
        return Unwritable(problem.strerror).report()
    except click.ClickException as problem:
        try:
            problem.show()
        except OSError:
            drop(sys.stderr)
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
