"""`unmess-opt`: runs the project's pipelines, or single passes, on an MLIR file.

The pipelines are imported when they are needed, so that help and usage errors appear at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from unmess.cli import arguments
from unmess.core.errors.error import Error
from unmess.core.options.names import did_you_mean

if TYPE_CHECKING:
    from torch_mlir import ir

    from pipelines.pipeline import Pipeline

_HINT = "run `unmess-opt --list` to list the pipelines"
# The name of the place before the first pass, for `--insert-pass`.
_START = "start"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.File("r"), default="-")
@click.option(
    "--pipeline",
    "names",
    multiple=True,
    metavar="NAME",
    help="A pipeline, a rewrite, a pass with its options, or FILE.py:FUNCTION. May be repeated.",
)
@click.option("--pass-pipeline", "text", help="Passes in MLIR's syntax: builtin.module(...).")
@arguments.print_after
@arguments.stop_after
@arguments.insert_pass
@click.option("--list", "listing", is_flag=True, help="Print the names of the pipelines.")
@click.option("--locations", is_flag=True, help="Print source locations.")
def command(
    file,
    names: tuple[str, ...],
    text: str | None,
    print_after: tuple[str, ...],
    stop_after: str | None,
    insert_passes: tuple[str, ...],
    listing: bool,
    locations: bool,
) -> None:
    """Run pipelines on an MLIR FILE (or standard input), in the order given."""
    from pipelines.debugging import debugging
    from pipelines.editing import inserted, stopped, without
    from pipelines.output_dialects.tosa_types import has_f64
    from pipelines.pipeline import Pipeline
    from pipelines.registry import FUNCTIONS, PIPELINES
    from pipelines.stages import NARROW_F64
    from unmess.core.ir.parsing import parse

    if listing:
        click.echo("\n".join((*PIPELINES, *FUNCTIONS)))
        return
    path = [*([_passes(text)] if text is not None else []), *map(_find, names)]
    if insert_passes or stop_after is not None:
        opaque = [name for name in names if name in FUNCTIONS]
        if opaque:
            raise Error(
                "usage",
                f"cannot insert passes into {opaque[0]!r} or stop in it: it is not a list "
                "of passes",
                hint="use --insert-pass and --stop-after with pipelines only",
            )
        path = inserted(path, _START, arguments.split_insertions(insert_passes))
        path = path if stop_after is None else stopped(path, _START, stop_after)
    module = parse(file.read(), file.name)
    skipped = (NARROW_F64.name,) if has_f64(module) else ()
    with debugging(print_after):
        for part in path:
            if isinstance(part, Pipeline):
                without(part, skipped).apply(module)
            else:
                part(module)
    click.echo(module.operation.get_asm(enable_debug_info=locations))


def _find(name: str) -> Pipeline | Callable[[ir.Module], object]:
    from pipelines.pipeline import Pipeline
    from pipelines.registry import FUNCTIONS, PIPELINES
    from pipelines.user_passes import as_step

    if name in PIPELINES:
        return PIPELINES[name]
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    try:
        step = as_step(name)
    except Error as error:
        # The file does not run: the name is not misspelled.
        if ".py:" in name:
            raise
        hint = did_you_mean(name, (*PIPELINES, *FUNCTIONS), _HINT)
        raise Error("usage", f"unknown pipeline {name!r}", hint=hint) from error
    return Pipeline(step.name, "compile", _HINT, (step,))


def _passes(text: str) -> Pipeline:
    """Returns the text of `--pass-pipeline` as one step: only MLIR can split it into passes."""
    from pipelines.pipeline import Pipeline, Step
    from pipelines.user_passes import problem_of

    inner = text.removeprefix("builtin.module(").removesuffix(")")
    step = Step(inner, "given on the command line")
    if problem := problem_of(step):
        raise Error("usage", f"cannot parse --pass-pipeline: {problem}", hint=_HINT)
    return Pipeline("passes", "compile", _HINT, (step,))


def main() -> int:
    """Runs the command and returns the exit status."""
    try:
        command(standalone_mode=False)
    except Error as error:
        print(error, file=sys.stderr)
        return error.exit_status
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
