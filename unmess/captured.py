"""Captures a model with the options of a command line."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import unmess
from importers.sources.example_inputs import parse_inputs
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs


def captured(
    model: str,
    inputs: Sequence[str] = (),
    dynamic: Sequence[str] = (),
    strategy: str = "auto",
    backend_legal_ops: Collection[str] = (),
    trust: bool = False,
    only: str | None = None,
    fold_constants: bool = False,
    quantize: str | None = None,
    integer: bool = False,
    calibrate: Sequence[str] = (),
) -> Program | Programs:
    """Captures a model string.

    Args:
        inputs: example arguments in place of the model's own, as `--input` takes them.
        dynamic: the dynamic dimensions, as `--dynamic` takes them.
        strategy, backend_legal_ops, trust, only: as for `unmess.capture`.
        fold_constants: as for `unmess.lower`.
        quantize, integer, calibrate: as `--quantize`, `--integer` and `--calibrate` take them.

    Raises:
        Error: stage `usage`, `source` or `capture`.
    """
    args, kwargs = parse_inputs(inputs)
    program = unmess.capture(
        model,
        args,
        kwargs,
        dynamic_shapes=dynamic or None,
        strategy=strategy,
        backend_legal_ops=backend_legal_ops,
        trust=trust,
        only=only,
    )
    if quantize is not None or integer or calibrate:
        # Imported here to save start-up time.
        from unmess.quantization import quantized_for

        program = quantized_for(program, quantize, integer, calibrate)
    if not fold_constants:
        return program
    # Imported here to save start-up time: it imports parts of Inductor.
    from importers.folding import fold_constants as fold

    return fold(program)
