"""Recurrent layers on both runners and in eager PyTorch, with one thread, in one process.

The layers have a batch of 2 and 64 features. Times of calls are the least CPU times of the process,
which other load disturbs less than elapsed times. `load` is the elapsed time from the live model to
an Executable with nothing cached. The calls of the sides alternate, and every result is compared
with eager PyTorch.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time

import torch

import unmess
from benchmarks.iree_models import by_turns, difference_of

RUNNERS = ("reference", "iree-cpu")
# Name, class, options.
LAYERS = (
    ("LSTM", torch.nn.LSTM, {"num_layers": 2}),
    ("GRU", torch.nn.GRU, {"num_layers": 2}),
    ("RNN", torch.nn.RNN, {"num_layers": 2}),
    ("LSTM, 6 layers, bidirectional", torch.nn.LSTM, {"num_layers": 6, "bidirectional": True}),
)
STEPS = (64, 512)


def main() -> None:
    torch.set_num_threads(1)
    columns = [f"{runner}{what}" for what in ("", ", ratio", ", load") for runner in RUNNERS]
    print(f"| layer | steps | eager | {' | '.join(columns)} |")
    print(f"|{' --- |' * (len(columns) + 3)}", flush=True)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        os.environ["UNMESS_CACHE"] = folder
        for name, kind, options in LAYERS:
            for steps in STEPS:
                print(
                    f"| {name} | {steps} | {' | '.join(_row(kind, options, steps))} |", flush=True
                )


def _row(kind: type[torch.nn.Module], options: dict, steps: int) -> list[str]:
    torch.manual_seed(0)
    model = kind(64, 64, **options).eval()
    x = torch.randn(steps, 2, 64)
    expected = model(x)
    calls, loads = {"eager": model}, {}
    for runner in RUNNERS:
        start = time.perf_counter()
        calls[runner] = unmess.load(unmess.capture(model, (x,)), on=runner)
        loads[runner] = time.perf_counter() - start
        difference = difference_of(calls[runner](x), expected)
        if not difference < 1e-4:
            sys.exit(f"{runner} differs from eager by {difference:.1e}")
    _, times = by_turns(calls, (x,), {})
    return [
        *(f"{times[side] * 1e3:.2f} ms" for side in calls),
        *(f"{times[runner] / times['eager']:.2f}" for runner in RUNNERS),
        *(f"{loads[runner]:.1f} s" for runner in RUNNERS),
    ]


if __name__ == "__main__":
    main()
