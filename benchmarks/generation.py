"""SmolLM2-135M generates 64 tokens: `unmess.load_generator` and transformers' `generate`.

Both are greedy, and alternate in one process, with the same weights and number of threads. For each
dtype: seconds to load, the median of tokens per second after the first token, and whether the
tokens are equal to those of transformers in f32.
"""

import statistics
import time

import torch
from rich.console import Console
from rich.table import Table

import unmess
from importers.sources import find_source
from tools.smollm2 import smollm2, unpacked

RUNS, TOKENS = 5, 64
PROMPT = "Once upon a time, in a village by the sea,"


def main() -> None:
    found = f"hf:{smollm2()}"
    source = find_source(found)
    ids = source.tokenizer(PROMPT, return_tensors="pt").input_ids
    eager = _Eager(unpacked())
    sides = {"transformers, f32": eager}
    seconds = {}
    for runner, dtype in (
        ("iree-cpu", torch.float32),
        ("iree-cpu", torch.bfloat16),
        ("reference", torch.float32),
    ):
        name = f"{runner}, {'f32' if dtype == torch.float32 else 'bf16'}"
        start = time.perf_counter()
        sides[name] = _Ours(unmess.load_generator(find_source(found), runner, 128, dtype))
        seconds[name] = time.perf_counter() - start
    expected = eager.tokens(ids)
    speeds = {name: [] for name in sides}
    same = {name: side.tokens(ids) == expected for name, side in sides.items()}
    for _ in range(RUNS):
        for name, side in sides.items():
            side.tokens(ids)
            speeds[name].append(side.speed)
    table = Table("", "load, s", "tokens a second", "against transformers", "the same tokens")
    theirs = statistics.median(speeds["transformers, f32"])
    for name in sides:
        speed = statistics.median(speeds[name])
        load = f"{seconds[name]:.0f}" if name in seconds else ""
        table.add_row(
            name, load, f"{speed:.1f}", f"{speed / theirs:.2f}", "yes" if same[name] else "no"
        )
    Console().print(f"{torch.get_num_threads()} threads", table)


class _Ours:
    def __init__(self, generator: unmess.Generator):
        self._generator = generator

    def tokens(self, ids: torch.Tensor) -> list[int]:
        tokens = list(self._generator.tokens(ids, TOKENS))
        self.speed = self._generator.statistics.tokens_per_second
        return tokens


class _Eager:
    """Runs `model.generate` and measures the speed of the steps after the first token."""

    def __init__(self, model: torch.nn.Module):
        self._model = model

    def tokens(self, ids: torch.Tensor) -> list[int]:
        times: list[float] = []
        tokens = self._model.generate(
            ids, do_sample=False, max_new_tokens=TOKENS, streamer=_Clock(times)
        )[0, ids.shape[1] :].tolist()
        # times[0] is the prompt, times[1] the first new token.
        self.speed = (len(tokens) - 1) / (times[-1] - times[1])
        return tokens


class _Clock:
    """A transformers streamer that records the time of each call."""

    def __init__(self, times: list[float]):
        self._times = times

    def put(self, _tokens: torch.Tensor) -> None:
        self._times.append(time.perf_counter())

    def end(self) -> None:
        pass
