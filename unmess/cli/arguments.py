"""Arguments and options that several commands take."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

import click

from pipelines.backends.table import DEFAULT_RUNNERS, HELP
from unmess.core.errors.error import Error
from unmess.core.errors.stages import OUTPUT_DIALECTS
from unmess.core.options.dynamic_axis import SYNTAX, parse_dynamic
from unmess.core.options.names import FALLBACKS, STRATEGIES, check_name

model = click.argument("model")
strategy = click.option(
    "--strategy",
    default="auto",
    show_default=True,
    metavar="NAME",
    help=f"Capture strategy: {', '.join(STRATEGIES)}.",
)
only = click.option(
    "--only",
    metavar="MODULE",
    help="Use this module of MODEL alone, such as layer1.0. Its example arguments are those of its "
    "first call when the model runs on its example inputs.",
)
quantize = click.option(
    "--quantize",
    metavar="FORMAT",
    help="Quantize MODEL after training, by torchao: int8. Scales come from its example inputs, or "
    "from --calibrate.",
)
calibrate = click.option(
    "--calibrate",
    multiple=True,
    metavar="FILE",
    help="Compute scales from this batch: .npy with the only argument, or .npz with arguments by "
    "name. May be repeated.",
)
integer = click.option(
    "--integer",
    is_flag=True,
    help="Compute in integers between the quantized tensors of MODEL.",
)
trust = click.option(
    "--trust",
    is_flag=True,
    help="Allow MODEL's files to run code: pickled objects, Python code in a Hugging Face "
    "folder, any operation in IR.",
)


def runner(default: str, more: str = ""):
    """Returns the option `--on RUNNER` with this default; `more` ends the help."""
    return click.option(
        "--on",
        "runner",
        default=default,
        show_default=True,
        metavar="RUNNER",
        help=f"Runner: {HELP}{more}.",
    )


runners = click.option(
    "--on",
    "runners",
    multiple=True,
    metavar="RUNNER[,RUNNER...]",
    help=f"Runner: {HELP}. May be repeated. Default: {','.join(DEFAULT_RUNNERS)}.",
)
dialects = click.option(
    "--via",
    "dialects",
    multiple=True,
    metavar="DIALECT[,DIALECT...]",
    help=f"Output dialect whose IR runs: {', '.join(OUTPUT_DIALECTS)}, or default for the one "
    f"that the runner takes by default. May be repeated. Default: {','.join(OUTPUT_DIALECTS)}.",
)


patterns = click.option(
    "--models",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="A model string, or a pattern of recipes such as torchvision:* or hf:*bert*; may be "
    "repeated. Default: all recipes.",
)
memory = click.option(
    "--memory",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MB",
    help="Memory that one model may allocate, in millions of bytes. Default: no limit.",
)


def jobs(meaning: str):
    """Returns the option `--jobs N`. Its help is `meaning`, followed by the default."""
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"{meaning} Default: one for each processor.",
    )


def timeout(meaning: str, default: float | None = None):
    """Returns the option `--timeout SECONDS`. `meaning` is its help."""
    return click.option(
        "--timeout",
        type=Seconds(),
        default=default,
        show_default=default is not None,
        metavar="SECONDS",
        help=meaning,
    )


def output_folder(default: str, meaning: str):
    """Returns the option `--output DIR`. `meaning` is its help."""
    return click.option(
        "-o", "--output", default=default, show_default=True, metavar="DIR", help=meaning
    )


def shard(meaning: str):
    """Returns the option `--shard I/N`. `meaning` is its help."""
    return click.option("--shard", default="1/1", metavar="I/N", help=meaning)


def split_names(names: Iterable[str]) -> tuple[str, ...]:
    """Splits the values of a repeated option, which list names with commas. Returns each once."""
    return tuple(dict.fromkeys(name for each in names for name in each.split(",")))


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
    help="Make a dimension dynamic. May be repeated, or hold several axes, separated by "
    "commas. INPUT is the name or position of a parameter, or * for all tensors. Sizes "
    "with the same NAME are equal; 32*NAME is a multiple of 32.",
)
inputs = click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="INPUT",
    help="Replace an example argument of the model, once for each: 1x3x224x224xf32 (a random "
    "tensor), 3, 0.5, true, none, file.npy, or NAME=INPUT for a keyword argument.",
)


cpu = click.option(
    "--cpu",
    default="host",
    show_default=True,
    metavar="NAME",
    help="CPU that iree-cpu compiles for: host, generic (any CPU of this architecture), or an "
    "LLVM name such as znver3.",
)

preset = click.option(
    "--preset",
    metavar="NAME",
    help="Preset of IREE's compiler for iree-cpu: plain, channels-last, dynamic-tiles, "
    "data-tiling or channels-last-data-tiling. Default: the preset that `unmess tune` has stored, "
    "or one chosen by the operations of the program.",
)

unchecked = click.option(
    "--unchecked",
    is_flag=True,
    help="Do not check indices and other data at run time. An index that is out of range then "
    "reads or writes memory outside of its tensor.",
)


fallback = click.option(
    "--fallback",
    type=click.Choice(FALLBACKS),
    help="Run operators that do not compile in eager PyTorch, and the rest in compiled regions. "
    "Default: an error.",
)
allow_op = click.option(
    "--allow-op",
    "allow_ops",
    multiple=True,
    metavar="NAME",
    help="With a fallback: compile this operator, such as aten::batch_norm, or report why it does "
    "not compile. May be repeated. UNMESS_ALLOW_OPS adds to these.",
)
deny_op = click.option(
    "--deny-op",
    "deny_ops",
    multiple=True,
    metavar="NAME",
    help="With a fallback: run this operator in eager PyTorch. May be repeated. UNMESS_DENY_OPS "
    "adds to these.",
)

print_after = click.option(
    "--print-after",
    multiple=True,
    metavar="STEP",
    help="Print the IR on stderr after a pass (canonicalize), a pipeline (linalg, "
    "reference-fuse), a rewrite (reference-outline), or after every step (all). May be "
    "repeated.",
)

stop_after = click.option(
    "--stop-after",
    metavar="STEP",
    help="Stop after a stage or a pass; canonicalize:2 is the second pass of that name.",
)
insert_pass = click.option(
    "--insert-pass",
    "insert_passes",
    multiple=True,
    metavar="AFTER=PASS",
    help="Run your own pass after a stage or a pass. PASS is a pass in MLIR's syntax, such as "
    "cse or canonicalize{max-iterations=3}, or FILE.py:FUNCTION for a function that "
    "changes an ir.Module in place. May be repeated.",
)

no_cache = click.option(
    "--no-cache",
    is_flag=True,
    help="Capture and compile again; do not read or write the cache.",
)

backend_legal_op = click.option(
    "--backend-legal-op",
    "backend_legal_ops",
    multiple=True,
    metavar="NAME",
    help="Do not decompose this composite operator, for instance aten.softmax.int. May be "
    "repeated.",
)


@dataclass(frozen=True)
class CaptureOptions:
    """The options of a capture, as for `unmess.captured.captured`, which takes them by name."""

    inputs: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    strategy: str = "auto"
    only: str | None = None
    quantize: str | None = None
    calibrate: tuple[str, ...] = ()
    integer: bool = False
    trust: bool = False

    def check(self) -> None:
        """Raises an Error (`usage`) for a wrong strategy or wrong syntax of `--dynamic`."""
        check_dynamic(self.dynamic)
        check_strategy(self.strategy)


def _capturing(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns a decorator that adds options, and passes the capture options as `capture`."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def command(**values: Any) -> int:
            names = [each.name for each in fields(CaptureOptions) if each.name in values]
            chosen = {name: values.pop(name) for name in names}
            return function(capture=CaptureOptions(**chosen), **values)

        # Decorators apply from the last to the first.
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


capture = _capturing(inputs, dynamic, strategy, only, trust)
_quantized = (inputs, dynamic, strategy, only, quantize, calibrate, integer)
quantized_capture = _capturing(*_quantized, trust)
cacheable_capture = _capturing(*_quantized, no_cache, trust)


def split_insertions(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Splits each `AFTER=PASS` into a pair. Raises an Error (`usage`) if a part is missing."""
    pairs = [text.partition("=") for text in texts]
    for text, (after, _, own) in zip(texts, pairs, strict=True):
        if not (after and own):
            raise Error(
                "usage", f"--insert-pass {text!r} is not of the form AFTER=PASS", hint="torch=cse"
            )
    return [(after, own) for after, _, own in pairs]


def split_sizes(option: str, texts: tuple[str, ...]) -> dict[str, int]:
    """Returns the sizes by name. Raises an Error (`usage`) if one is not of the form NAME=VALUE."""
    sizes: dict[str, int] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value.isdecimal():
            raise Error(
                "usage",
                f"{option} {text} is not of the form NAME=VALUE",
                hint=f"write it like {option} seq=128",
            )
        sizes[name] = int(value)
    return sizes


def check_dynamic(texts: tuple[str, ...]) -> None:
    """Raises an Error (`usage`) if the syntax of `--dynamic` is wrong. Looks up no inputs."""
    parse_dynamic(texts)


def check_no_example(
    model: str,
    capture: CaptureOptions,
    hint: str = "pass the option when you write the file from the model",
) -> None:
    """Raises an Error (`usage`) if `--input`, `--dynamic` or `--only` is given for IR."""
    if capture.only is not None:
        raise Error("usage", f"{model} is IR, so --only cannot cut a module out of it", hint=hint)
    if capture.inputs or capture.dynamic:
        raise Error(
            "usage",
            f"{model} is IR, so example inputs and dynamic sizes cannot be changed",
            hint=hint,
        )


def check_no_quantization(model: str, capture: CaptureOptions) -> None:
    """Raises an Error (`usage`) if `--quantize` or `--integer` is given for IR."""
    if capture.quantize is not None or capture.integer:
        raise Error(
            "usage",
            f"{model} is IR, which cannot be quantized",
            hint="pass the option when you write the file from the model",
        )


def check_strategy(name: str) -> None:
    """Raises an Error (`usage`) if `name` is not a capture strategy."""
    check_name("capture strategy", name, STRATEGIES)
