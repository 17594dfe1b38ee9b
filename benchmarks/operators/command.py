"""The command: times the expressions, and prints the table."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

import unmess
from benchmarks.operators.expressions import EXPRESSIONS, TENSORS

RUNNERS = ("reference", "iree-cpu")
# The number of turns of each side, and the seconds of a turn, which has at least two calls.
_TURNS, _SECONDS = 4, 0.02
# The largest allowed difference from eager, relative to the largest magnitude, by dtype.
_TOLERANCES = {torch.float16: 2e-3, torch.bfloat16: 1e-2}
_TOLERANCE = 1e-5
_DTYPES = ("float32", "float64", "float16", "bfloat16")
# The least ratio of the rows of the table.
_SLOW = 2.0
_SHORTEST = "one + one"


class _Expression(torch.nn.Module):
    """Computes an expression from its tensors, which are the arguments.

    Args:
        text: the expression.
        dtype: the dtype that f32 tensors are converted to.

    Attributes:
        text: the expression.
        args: its tensors.
    """

    def __init__(self, text: str, dtype: torch.dtype):
        super().__init__()
        self.text = text
        tensors = {**TENSORS, "one": torch.ones(1)}
        names = [name for name in tensors if name in compile(text, text, "eval").co_names]
        self.args = tuple(
            tensor.to(dtype) if tensor.dtype == torch.float32 else tensor
            for tensor in (tensors[name] for name in names)
        )
        scope = {"torch": torch, "F": torch.nn.functional}
        self._function = eval(f"lambda {', '.join(names)}: {text}", scope)

    def forward(self, *args: torch.Tensor) -> Any:
        """Computes the expression."""
        return self._function(*args)


def main(arguments: Sequence[str] = ()) -> None:
    """Prints the table.

    Args:
        arguments: those of the command line.
    """
    parser = argparse.ArgumentParser("python -m benchmarks.operators", description=__doc__)
    parser.add_argument("words", nargs="*", help="only expressions that contain one of them")
    parser.add_argument("--dtype", choices=_DTYPES, default="float32", help="of f32 tensors")
    parser.add_argument("--cpu", default="host", help="the CPU that iree-cpu compiles for")
    options = parser.parse_args(arguments)
    words, dtype = options.words, getattr(torch, options.dtype)
    target = unmess.TargetOptions(cpu=options.cpu)
    texts = [line for line in EXPRESSIONS.splitlines() if line]
    chosen = [text for text in texts if not words or any(word in text for word in words)]
    shortest, _ = _measured(_Expression(_SHORTEST, dtype), target)
    rows, counts, supported = [], dict.fromkeys(RUNNERS, 0), 0
    for text in chosen:
        expression = _Expression(text, dtype)
        try:
            expression(*expression.args)
        except RuntimeError as problem:  # PyTorch has no kernel for this dtype
            print(f"{text} in eager: {str(problem).splitlines()[0]}", flush=True)
            continue
        supported += 1
        seconds, problems = _measured(expression, target)
        for runner, problem in problems.items():
            print(f"{text} on {runner}: {problem}", flush=True)
        ratios = {
            runner: max(seconds[runner] - shortest[runner], 0.0)
            / max(seconds["eager"] - shortest["eager"], 1e-6)
            for runner in RUNNERS
            if runner in seconds
        }
        for runner, ratio in ratios.items():
            counts[runner] += ratio <= _SLOW
        if words or max(ratios.values(), default=0) > _SLOW:
            rows.append((max(ratios.values(), default=0), _row(text, seconds, ratios)))
    print(f"{torch.get_num_threads()} threads; milliseconds, in brackets relative to eager")
    print(f"| expression | eager | {' | '.join(RUNNERS)} |\n|{' --- |' * (2 + len(RUNNERS))}")
    for _, row in sorted(rows, reverse=True):
        print(row)
    for runner, count in counts.items():
        print(f"{runner}: {count} of {supported} at most {_SLOW:.0f} times eager")


def _row(text: str, seconds: dict[str, float], ratios: dict[str, float]) -> str:
    cells = [
        f"{1000 * seconds[runner]:.3f} ({ratios[runner]:.1f})" if runner in ratios else "failed"
        for runner in RUNNERS
    ]
    return f"| `{text}` | {1000 * seconds['eager']:.3f} | {' | '.join(cells)} |"


def _measured(
    model: _Expression, target: unmess.TargetOptions
) -> tuple[dict[str, float], dict[str, str]]:
    """Returns the least seconds of a call for each side, and the problems of runners."""
    calls: dict[str, Callable] = {"eager": model}
    problems = {}
    with torch.no_grad():
        expected = model(*model.args)
        program = unmess.capture(model, model.args)
        for runner in RUNNERS:
            try:
                call = unmess.load(program, on=runner, target=target)
                _compare(call(*model.args), expected)
            except (unmess.Error, AssertionError) as problem:
                problems[runner] = str(problem).splitlines()[0]
                continue
            calls[runner] = call
        least = dict.fromkeys(calls, float("inf"))
        for _ in range(_TURNS):
            for side, call in calls.items():
                least[side] = min(least[side], _turn(call, model.args))
    return least, problems


def _turn(call: Callable, args: tuple[torch.Tensor, ...]) -> float:
    """Returns the least seconds of some calls in a row.

    An untimed call precedes them: the threads of the other sides still wait actively.
    """
    call(*args)
    least, end = float("inf"), time.perf_counter() + _SECONDS
    while True:
        start = time.perf_counter()
        call(*args)
        now = time.perf_counter()
        least = min(least, now - start)
        if now > end:
            return least


def _compare(result: Any, expected: Any) -> None:
    """Compares floats with a tolerance, and integers exactly, except for orders of equal elements.

    Raises:
        AssertionError: a tensor differs.
    """
    pairs = zip(pytree.tree_leaves(result), pytree.tree_leaves(expected), strict=True)
    for index, (one, other) in enumerate(pairs):
        if index and not other.is_floating_point():
            continue
        wide = other.double()
        finite = wide[wide.isfinite()]
        largest = float(finite.abs().max()) if finite.numel() else 0.0
        tolerance = _TOLERANCES.get(other.dtype, _TOLERANCE) * other.is_floating_point()
        torch.testing.assert_close(
            one.double(), wide, rtol=0, atol=tolerance * largest, equal_nan=True
        )
