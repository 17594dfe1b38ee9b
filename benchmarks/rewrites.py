"""Times programs with and without a rewrite, on both runners, and eager."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager

import torch

import unmess
from benchmarks.iree_models import difference_of, in_a_row

RUNNERS = ("reference", "iree-cpu")
# The largest allowed difference from eager, relative to the largest magnitude.
_TOLERANCE = 1e-5


def print_heading(columns: list[str], ways: tuple[str, str]) -> None:
    """Prints the number of threads, and the first two lines of the table.

    Args:
        columns: those before the times.
        ways: the names of the programs without and with the rewrite.
    """
    print(f"{torch.get_num_threads()} threads; milliseconds")
    heads = [*columns, "eager", *(f"{runner}, {way}" for runner in RUNNERS for way in ways)]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)


def milliseconds(
    model: Callable[..., torch.Tensor],
    args: tuple[torch.Tensor, ...],
    without: Callable[[], AbstractContextManager[object]],
) -> list[str]:
    """Returns the times of calls in a row: eager, then each runner without and with the rewrite.

    The sides alternate. Each result is compared with eager's.

    Args:
        without: returns a context in which programs are compiled without the rewrite.
    """
    program = unmess.capture(model, args)
    calls = {"eager": model}
    for runner in RUNNERS:
        choices = {"without the rewrite": without, "with it": contextlib.nullcontext}
        for way, choice in choices.items():
            # The key of a compiled program does not contain the choice.
            with tempfile.TemporaryDirectory() as folder, choice():
                os.environ["UNMESS_CACHE"] = folder
                calls[f"{runner}, {way}"] = unmess.load(program, on=runner)
    with torch.no_grad():
        expected = model(*args)
        for side, call in calls.items():
            difference = difference_of(call(*args), expected)
            if difference > _TOLERANCE:
                raise SystemExit(f"{model} on {side}: the result differs by {difference:.1e}")
        seconds = in_a_row(calls, args)
    return [f"{1000 * seconds[side]:.2f}" for side in calls]
