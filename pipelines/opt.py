"""`unmess-opt`: runs the project's pipelines, or single passes, on an MLIR file."""

from __future__ import annotations

import sys

import click

from unmess.core.error import Error


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.File("r"), default="-")
@click.option("--pipeline", "names", multiple=True, help="A pipeline by name; may be repeated.")
@click.option("--pass-pipeline", "text", help="Passes as MLIR spells them: builtin.module(...).")
@click.option(
    "--print-after",
    multiple=True,
    metavar="STEP",
    help="Print the IR on stderr after a pass, a pipeline, a function, or all of them.",
)
@click.option("--list", "listing", is_flag=True, help="Print the names of the pipelines.")
@click.option("--locations", is_flag=True, help="Print source locations.")
def command(
    file,
    names: tuple[str, ...],
    text: str | None,
    print_after: tuple[str, ...],
    listing: bool,
    locations: bool,
) -> None:
    """Run pipelines on an MLIR FILE (or standard input), in the order given."""
    from torch_mlir import ir

    from pipelines.debugging import debugging
    from pipelines.registry import PIPELINES
    from unmess.core.dialects import context_of_all

    if listing:
        click.echo("\n".join(PIPELINES))
        return
    unknown = [name for name in names if name not in PIPELINES]
    if unknown:
        raise Error(
            "usage", f"unknown pipeline {unknown[0]!r}", hint=f"one of {', '.join(PIPELINES)}"
        )
    with context_of_all():
        try:
            module = ir.Module.parse(file.read())
        except ir.MLIRError as problem:
            first = problem.error_diagnostics[0]
            raise Error(
                "usage", f"{file.name} does not parse: {first.location}: {first.message}"
            ) from problem
        with debugging(print_after):
            if text is not None:
                _run_passes(module, text)
            for name in names:
                PIPELINES[name](module)
        click.echo(module.operation.get_asm(enable_debug_info=locations))


def _run_passes(module, text: str) -> None:
    from pipelines.pipeline import Pipeline, Step

    inner = text.removeprefix("builtin.module(").removesuffix(")")
    steps = (Step(inner, "given on the command line"),)
    try:
        Pipeline("passes", "compile", "`unmess-opt --list` names the pipelines", steps).apply(
            module
        )
    except ValueError as problem:
        raise Error("usage", f"--pass-pipeline does not parse: {problem}") from problem


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
