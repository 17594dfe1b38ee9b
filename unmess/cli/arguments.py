"""Arguments and options that several commands take."""

from __future__ import annotations

import math
from typing import Any

import click

from unmess.core.dynamic_axis import SYNTAX, parse_dynamic
from unmess.core.error import Error
from unmess.core.names import RUNNERS, STRATEGIES, check_name

model = click.argument("model")
strategy = click.option(
    "--strategy",
    default="auto",
    show_default=True,
    metavar="NAME",
    help=f"How to capture: {', '.join(STRATEGIES)}.",
)
trust = click.option(
    "--trust",
    is_flag=True,
    help="Let MODEL's files run code: pickled objects, Python code in a Hugging Face folder, any "
    "operation in IR.",
)


def runner(default: str):
    """Returns the option `--on RUNNER` with this default."""
    return click.option(
        "--on",
        "runner",
        default=default,
        show_default=True,
        metavar="RUNNER",
        help=f"One of {', '.join(RUNNERS)}.",
    )


class Seconds(click.FloatRange):
    """A parameter type for a positive, finite number of seconds."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(  # noqa: D102
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value} is not a number of seconds.", param, ctx)
        return seconds


dynamic = click.option(
    "--dynamic",
    multiple=True,
    metavar=SYNTAX,
    help="Make a dimension dynamic; may be repeated, or hold several with commas between. INPUT is "
    "a parameter's name or position, * for all tensors; sizes of one NAME are equal, and 32*NAME "
    "is a multiple.",
)
inputs = click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="INPUT",
    help="An example argument in place of the model's own, once for each: 1x3x224x224xf32 (a "
    "random tensor), 3, 0.5, true, none, file.npy, or NAME=INPUT for a keyword.",
)


cpu = click.option(
    "--cpu",
    default="host",
    show_default=True,
    metavar="NAME",
    help="What iree-cpu compiles for: host, generic (any CPU of this architecture), or a name that "
    "LLVM knows, such as znver3.",
)

preset = click.option(
    "--preset",
    metavar="NAME",
    help="Options of IREE's compiler for iree-cpu: plain, channels-last, data-tiling or "
    "channels-last-data-tiling. By default what `unmess tune` has found, or by what is in the "
    "program.",
)

unchecked = click.option(
    "--unchecked",
    is_flag=True,
    help="Leave out the checks of indices and other data when the program runs. An index that is "
    "out of range then reads or writes memory outside of its tensor.",
)


print_after = click.option(
    "--print-after",
    multiple=True,
    metavar="STEP",
    help="Print the IR on stderr after a pass (canonicalize), a pipeline (linalg, reference-fuse), "
    "a function (reference-outline), or all of them; may be repeated.",
)

stop_after = click.option(
    "--stop-after",
    metavar="STEP",
    help="Stop after a stage or a pass, canonicalize:2 for the second of that name.",
)
insert_pass = click.option(
    "--insert-pass",
    "insert_passes",
    multiple=True,
    metavar="AFTER=PASS",
    help="Run a pass of your own after a stage or a pass: MLIR's text for one, cse or "
    "canonicalize{max-iterations=3}, or FILE.py:FUNCTION, which changes an ir.Module in place; "
    "may be repeated.",
)

no_cache = click.option(
    "--no-cache",
    is_flag=True,
    help="Capture and compile again, without reading or writing the cache.",
)

backend_legal_op = click.option(
    "--backend-legal-op",
    "backend_legal_ops",
    multiple=True,
    metavar="NAME",
    help="Keep a composite operator whole, for instance aten.softmax.int; may be repeated.",
)


def split_insertions(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Splits each `AFTER=PASS` into a pair. Raises an Error (`usage`) if a part is missing."""
    pairs = [text.partition("=") for text in texts]
    for text, (after, _, own) in zip(texts, pairs, strict=True):
        if not (after and own):
            raise Error("usage", f"--insert-pass {text!r} is not AFTER=PASS", hint="torch=cse")
    return [(after, own) for after, _, own in pairs]


def check_dynamic(texts: tuple[str, ...]) -> None:
    """Raises an Error (`usage`) if the syntax of `--dynamic` is wrong. Looks up no inputs."""
    parse_dynamic(texts)


def check_no_example(
    model: str,
    inputs: tuple[str, ...],
    dynamic: tuple[str, ...],
    hint: str = "give them with the model that the file was made from",
) -> None:
    """Raises an Error (`usage`) if `--input` or `--dynamic` is given for a model that is IR."""
    if inputs or dynamic:
        raise Error(
            "usage",
            f"{model} is IR already, which example inputs and dynamic sizes do not change",
            hint=hint,
        )


def check_strategy(name: str) -> None:
    """Raises an Error (`usage`) if `name` is not a capture strategy."""
    check_name("capture strategy", name, STRATEGIES)
