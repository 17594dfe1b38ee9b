"""Makes a captured program with quantized tensors an integer program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from importers.captured_program import CapturedProgram, OnnxProgram
from importers.integer.conversion import Remainder, to_integers
from importers.integer.grid import QUANTIZE
from importers.recapture import largest_error, recaptured, undecomposed
from unmess.core.errors.error import Error
from unmess.core.program.note import Note

# The number of operators in a note, and of layers for each.
_SHOWN, _LAYERS = 8, 2


def integer_program(program: CapturedProgram) -> CapturedProgram:
    """Returns a program that computes in integers between its quantize and dequantize operators.

    Its `eager` is the integer program in PyTorch, whose results a lowering has to equal exactly. A
    note lists the operators that stay in floating point, and gives the difference from the
    program's own eager on the example.

    Raises:
        Error: stage `usage`, if the program was not captured from PyTorch; stage `capture`, if it
            has no quantized tensors.
    """
    # Functional, with the operators of the model.
    graph = undecomposed(program, "--integer").run_decompositions({})
    module = graph.module()
    if not any(node.target in QUANTIZE for node in module.graph.nodes):
        raise Error(
            "capture",
            "the model has no quantized tensors",
            hint="pass --quantize int8, or a model that was quantized",
        )
    left = to_integers(module)
    result = recaptured(module, program)
    before = "onnxruntime's result" if isinstance(program, OnnxProgram) else "the quantized model"
    error = largest_error(program, module)
    text = f"{_summary(left)}; on the example, it is within {error} of {before}, relative to the "
    result.notes = (*result.notes, Note("integer", f"{text}largest value"))
    return result


def _summary(left: Sequence[Remainder]) -> str:
    if not left:
        return "every operator between the quantized inputs and the results computes in integers"
    counts = Counter((each.operator, each.reason) for each in left)
    shown = []
    for (operator, reason), count in counts.most_common(_SHOWN):
        layers = [
            each.layer
            for each in left
            if (each.operator, each.reason) == (operator, reason) and each.layer
        ]
        where = ", ".join(layers[:_LAYERS]) + (", …" if len(layers) > _LAYERS else "")
        shown.append(
            f"{count} {operator} ({where}: {reason})" if where else f"{count} {operator} ({reason})"
        )
    rest = len(counts) - len(shown)
    more = f"; and {rest} more kinds" if rest > 0 else ""
    return f"{len(left)} operators stay in floating point: {'; '.join(shown)}{more}"
