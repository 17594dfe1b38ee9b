"""Finds the miscompiled dispatch of IREE that causes a wrong result. Runs in workers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pipelines.backends.table import BUILT_IN
from unmess.core.errors.error import Error
from unmess.core.errors.quiet import quiet_libraries
from unmess.core.options.target_options import TargetOptions
from unmess.core.processes.children import limit_memory
from unmess.isolated.options import Options

# A dispatch is wrong if it differs by this part of the difference of the program's result, or by
# `_LEAST` if that difference is not a finite number.
_PART, _LEAST = 0.1, 1e-3


def has_dispatches(runner: str) -> bool:
    """Returns whether a runner is a target of IREE."""
    return runner in BUILT_IN and runner.startswith("iree-")


def wrong_dispatch(
    send: Callable[[Any], None], model: str, options: Options, runner: str, difference: float | None
) -> None:
    """Sends a line about the first dispatch that IREE miscompiles, and its IR.

    The IR is None if there is no such dispatch.

    Args:
        runner: a target of IREE.
        difference: of the program's result, relative to its largest value; None for NaN elsewhere.
    """
    import unmess
    from pipelines.iree import dispatches
    from unmess.captured import captured

    quiet_libraries()
    limit_memory(options.memory_mb)
    program = captured(
        *(model, options.inputs, options.dynamic, options.strategy),
        trust=options.trust,
        only=options.only,
    )
    # The interpreter does not support all element types.
    try:
        module = program.to_module() if options.via is None else unmess.lower(program, options.via)
        found = dispatches.wrong_dispatch(
            module,
            runner,
            TargetOptions(cpu=options.cpu, preset=options.preset),
            lambda run: run(*program.args, **program.kwargs),
            least=_LEAST if difference is None or math.isinf(difference) else _PART * difference,
        )
    except Error as problem:
        send(
            (f"unknown: IREE's interpreter gives no result to compare with: {problem.cause}", None)
        )
        return
    same = "none differs from IREE's interpreter, whose result is wrong, too"
    send((str(found), found.ir) if found else (same, None))
