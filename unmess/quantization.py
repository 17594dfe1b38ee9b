"""The public functions `quantize` and `to_integers`, and how a command line calls them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from unmess.core.errors.error import Error, first_line
from unmess.core.errors.failure import only_errors
from unmess.core.options.names import check_name
from unmess.core.processes.current_stage import enter_stage
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs

# The values of `--quantize`.
FORMATS = ("int8",)


@only_errors()
def quantize(program: Program, data: Iterable[Any] | None = None, integer: bool = False) -> Program:
    """Quantizes a captured f32 program to 8 bits after training, with torchao's PT2E flow.

    Layers, sums, products, means and functions of one element take and give 8-bit integers; other
    operators stay in floating point. Weights have a scale per output channel, other tensors one
    scale and a zero point.

    Args:
        program: from `unmess.capture`.
        data: batches that the scales are computed from, each a tuple of arguments, a dict of
            keyword arguments or the only argument; by default the program's example.
        integer: compute in integers between the quantized tensors, see `to_integers`.

    Returns:
        A Program. Its `eager` is the quantized model in PyTorch, its notes give the error of that
        from the floating-point program on the example.

    Raises:
        Error: stage `usage`, if the program was not captured from PyTorch, or for batches that do
            not fit it; stage `capture`, if nothing can be quantized or torchao is not installed.
    """
    enter_stage("capture")
    from importers.quantization import quantized_program

    batches = [(program.args, program.kwargs)] if data is None else _calls(data)
    result = quantized_program(program, batches)
    return to_integers(result) if integer else result


@only_errors()
def to_integers(program: Program) -> Program:
    """Replaces floating-point operators between quantized tensors by arithmetic on integers.

    Products and convolutions add up in i32. A fixed-point multiplication with one rounding, TOSA's
    `rescale`, gives the 8-bit result; functions of one element are tables of 256 values. Each
    result is within one step of its scale of the floating-point operator on the same operands.

    Args:
        program: from `quantize`, or captured from a model with `quantized_decomposed` operators.

    Returns:
        A Program. Its `eager` is the integer program in PyTorch, which lowerings equal exactly. A
        note lists the operators that stay in floating point, with the reason.

    Raises:
        Error: stage `usage`, if the program was not captured from PyTorch; stage `capture`, if it
            has no quantized tensors.
    """
    enter_stage("capture")
    from importers.integer import integer_program

    return integer_program(program)


def quantized_for(
    program: Program | Programs,
    quantize_to: str | None,
    integer: bool,
    calibrate: Sequence[str] = (),
) -> Program | Programs:
    """Returns the program that `--quantize`, `--integer` and `--calibrate` ask for.

    Raises:
        Error: stage `usage` or `capture`.
    """
    check_options(quantize_to, calibrate)
    if quantize_to is None and not integer:
        return program
    if isinstance(program, Programs):
        raise Error(
            "usage",
            f"{program.name} has several entry points, which cannot be quantized",
            hint="pass a model with one entry point",
        )
    if quantize_to is not None:
        program = quantize(program, _batches(calibrate) if calibrate else None)
    return to_integers(program) if integer else program


def check_options(quantize_to: str | None, calibrate: Sequence[str]) -> None:
    """Raises an Error (`usage`) for an unknown format, or `--calibrate` without `--quantize`."""
    if quantize_to is not None:
        check_name("quantization", quantize_to, FORMATS)
    elif calibrate:
        raise Error("usage", "--calibrate needs --quantize", hint="add --quantize int8, or omit it")


def _calls(data: Iterable[Any]) -> Iterator[tuple[tuple, dict[str, Any]]]:
    for batch in data:
        if isinstance(batch, dict):
            yield (), batch
        else:
            yield tuple(batch) if isinstance(batch, (tuple, list)) else (batch,), {}


def _batches(files: Sequence[str]) -> Iterator[Any]:
    """Reads batches: `.npy`, the only argument, or `.npz`, arrays by the names of arguments."""
    import numpy

    for text in files:
        try:
            loaded = numpy.load(Path(text).expanduser(), allow_pickle=False)
        except (OSError, ValueError) as problem:
            raise Error(
                "usage",
                f"cannot read the batch {text}: {first_line(problem)}",
                hint="pass a file that numpy.save or numpy.savez has written",
            ) from problem
        if isinstance(loaded, numpy.ndarray):
            yield (torch.from_numpy(loaded),)
        else:
            yield {name: torch.from_numpy(loaded[name]) for name in loaded.files}
