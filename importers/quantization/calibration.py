"""Quantizes a captured model, with scales from the tensors that it computes for given batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from importers.captured_program import CapturedProgram
from importers.quantization.attention import with_attention_products
from importers.recapture import largest_error, recaptured, undecomposed
from unmess.core.errors.error import Error, first_line
from unmess.core.errors.quiet import quiet_pytorch
from unmess.core.program.note import Note


def quantized_program(
    program: CapturedProgram, batches: Iterable[tuple[tuple, dict[str, Any]]]
) -> CapturedProgram:
    """Returns the program with quantize and dequantize operators around the quantized operators.

    Args:
        batches: the arguments and keyword arguments of each call that scales are computed from.

    Raises:
        Error: stage `usage`, if the program was not captured from PyTorch, there are no batches, or
            one does not fit; stage `capture`, if no operator can be quantized.
    """
    graph = with_attention_products(undecomposed(program, "--quantize"))
    convert_pt2e, prepare_pt2e, quantizer = _torchao()
    prepared = prepare_pt2e(graph.module(), quantizer)
    if not quantizer.annotated:
        raise Error(
            "capture",
            "the model has no operator that can be quantized to 8 bits",
            hint="quantization needs layers, sums or products of f32 tensors",
        )
    count = 0
    for args, kwargs in batches:
        try:
            with torch.no_grad():
                prepared(*args, **kwargs)
        except Exception as problem:
            raise Error(
                "usage",
                f"batch {count} of the calibration does not fit the model: {first_line(problem)}",
                hint="pass the arguments of the model, with the sizes of the example",
            ) from problem
        count += 1
    if not count:
        raise Error("usage", "the calibration has no batches", hint="pass at least one")
    module = convert_pt2e(prepared)
    result = recaptured(module, program)
    result.notes = (*result.notes, Note("quantized", _accuracy(program, module, quantizer, count)))
    return result


def _torchao() -> tuple[Any, Any, Any]:
    """Returns convert_pt2e, prepare_pt2e and the quantizer."""
    try:
        with quiet_pytorch():
            from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    except ImportError as problem:
        raise Error(
            "capture",
            "quantization needs the package torchao",
            hint="pip install 'unmess[quantize]'",
        ) from problem
    # Imported here, because it imports torchao.
    from importers.quantization.quantizer import EightBits

    return convert_pt2e, prepare_pt2e, EightBits()


def _accuracy(
    program: CapturedProgram, module: torch.fx.GraphModule, quantizer: Any, count: int
) -> str:
    """Describes the difference from the floating-point program on the example."""
    batches = "1 batch" if count == 1 else f"{count} batches"
    error = largest_error(program, module)
    return (
        f"{quantizer.annotated} operators in 8 bits, scales from {batches}; on the example, the "
        f"largest error is {error} of the floating-point program's largest value"
    )
