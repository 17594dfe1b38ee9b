"""Cost of index checks: each program with and without them, alternating in one process.

The programs are an embedding lookup, a sentence embedding model, and a decoding step of
SmolLM2-135M with its key-value cache as state. On the reference runner, unchecked code also omits
checks of sizes and divisors.
"""

import statistics
import time
from collections.abc import Callable

import torch
import transformers
from rich.console import Console
from rich.table import Table

import unmess
from examples.demo import minilm_folder
from importers.sources import find_source
from tools.smollm2 import smollm2

SECONDS, LEAST = 20.0, 100
RUNNERS = ("iree-cpu", "reference")


def main() -> None:
    torch.manual_seed(0)
    table = Table("milliseconds", "runner", "unchecked", "checked", "cost", "cost, least")
    for make in (_lookup, _sentence, _decoding):
        name, program, call = make()
        for runner in RUNNERS:
            sides = [unmess.load(program, on=runner, unchecked=flag) for flag in (True, False)]
            times = _times([call(side) for side in sides])
            pairs = [(statistics.median(each), min(each)) for each in times]
            table.add_row(
                name,
                runner,
                *(f"{1e3 * median:.3f} ({1e3 * low:.3f})" for median, low in pairs),
                *(
                    f"{100 * (checked / unchecked - 1):+.1f} %"
                    for unchecked, checked in zip(*pairs, strict=True)
                ),
            )
    Console().print(f"{torch.get_num_threads()} threads; medians, and the least time", table)


def _lookup():
    ids = torch.randint(30522, (32, 128))
    program = unmess.capture(torch.nn.Embedding(30522, 384).eval(), (ids,))
    return "a table of 30,522 × 384, 32 × 128 indices", program, lambda run: lambda: run(ids)


def _sentence():
    model = transformers.AutoModel.from_pretrained(minilm_folder()).eval()
    ids = torch.randint(1000, 30000, (1, 128))
    program = unmess.capture(model, (ids,))
    return "all-MiniLM-L6-v2, 1 × 128", program, lambda run: lambda: run(ids)


def _decoding():
    source = find_source(f"hf:{smollm2()}")
    program = unmess.capture_generation(source, max_length=128, cache="state")
    ids = source.tokenizer("Once upon a time, in a village", return_tensors="pt").input_ids

    def step(run):
        run.prefill(ids)

        def decode():
            # Reset the length to the prompt, so that every call is the same step.
            run.state["cache_length"] = torch.tensor(ids.shape[1])
            run.decode(ids[:, -1:])

        return decode

    return "SmolLM2-135M, a decoding step", program, step


def _times(sides: list[Callable[[], object]]) -> list[list[float]]:
    """Returns the seconds of each call by side. The order of the sides alternates."""
    times: list[list[float]] = [[] for _ in sides]
    for side in sides:
        side()
    end = time.perf_counter() + SECONDS
    turn = 0
    while time.perf_counter() < end or turn < LEAST:
        order = range(len(sides)) if turn % 2 else reversed(range(len(sides)))
        for position in order:
            start = time.perf_counter()
            sides[position]()
            times[position].append(time.perf_counter() - start)
        turn += 1
    return times


if __name__ == "__main__":
    main()
