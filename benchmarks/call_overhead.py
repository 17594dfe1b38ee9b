"""The part of a call that is spent in Python, outside of the compiled program.

After the call of a large model, Python's data and code are no longer in the processor's cache, so
the same steps take several times as long as in calls of a small program.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import iree.runtime
import torch
import torchvision
from rich.console import Console
from rich.table import Table

import unmess
from pipelines.reference.runtime import Runtime

CALLS, WARM_UP = 300, 10
# For each runner, the class and the name of the method that runs a compiled program.
RUNNERS = {"reference": (Runtime, "run"), "iree-cpu": (iree.runtime.VmContext, "invoke")}


class Add(torch.nn.Module):
    """A program whose compiled code takes less than a microsecond."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Adds 1 to each element."""
        return x + 1


def main() -> None:
    torch.manual_seed(0)
    image = torch.randn(1, 3, 224, 224)
    models = {
        "x + 1, 4 elements": (Add(), torch.randn(4)),
        "MobileNetV3-large": (torchvision.models.mobilenet_v3_large().eval(), image),
        "ResNet-18": (torchvision.models.resnet18().eval(), image),
    }
    table = Table("microseconds", "runner", "call", "compiled program", "Python", "Python, least")
    for name, (model, argument) in models.items():
        program = unmess.capture(model, (argument,))
        for runner, (owner, method) in RUNNERS.items():
            calls, inside = _seconds(unmess.load(program, on=runner), argument, owner, method)
            outside = [whole - part for whole, part in zip(calls, inside, strict=True)]
            medians = map(statistics.median, (calls, inside, outside))
            times = (*medians, min(outside))
            table.add_row(name, runner, *(f"{1e6 * seconds:,.0f}" for seconds in times))
    console = Console()
    console.print(f"{torch.get_num_threads()} threads; medians of {CALLS} calls in a row", table)


def _seconds(
    run: Callable[[torch.Tensor], Any], argument: torch.Tensor, owner: type, method: str
) -> tuple[list[float], list[float]]:
    """Returns the seconds of each call, and those of the compiled program in it."""
    original = getattr(owner, method)
    calls: list[float] = []
    inside: list[float] = []

    def timed(*arguments: Any) -> Any:
        start = time.perf_counter()
        result = original(*arguments)
        inside.append(time.perf_counter() - start)
        return result

    with mock.patch.object(owner, method, timed):
        for _ in range(WARM_UP + CALLS):
            start = time.perf_counter()
            run(argument)
            calls.append(time.perf_counter() - start)
    return calls[WARM_UP:], inside[WARM_UP:]
