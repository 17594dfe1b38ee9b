"""SmolLM2-135M generates 64 tokens: `unmess.load_generator`, transformers and llama.cpp.

All are greedy, and alternate, with the same number of threads. transformers has weights in f32; the
others have the packed weights of the file, except in bf16 and on the reference runner, where unmess
unpacks them. For each: seconds to load, the median of tokens per second after the first token, and
whether the text is that of transformers. llama.cpp runs in an environment of its own, which is
made the first time; if that fails, the table says why.
"""

import statistics
import time
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

import unmess
from benchmarks.llama_cpp import LlamaCpp
from benchmarks.peer_environment import Missing
from importers.sources import find_source
from tools.smollm2 import smollm2, unpacked

RUNS, TOKENS, CONTEXT = 5, 64, 128
PROMPT = "Once upon a time, in a village by the sea,"
PEER = "llama.cpp, packed"


def main() -> None:
    file, threads = smollm2(), torch.get_num_threads()
    tokenizer = find_source(f"hf:{file}").tokenizer
    theirs = "transformers, f32"
    sides, seconds = {theirs: _Eager(unpacked(), tokenizer)}, {}
    for name, runner, dtype in (
        ("iree-cpu, packed", "iree-cpu", torch.float32),
        ("iree-cpu, bf16", "iree-cpu", torch.bfloat16),
        ("reference, f32", "reference", torch.float32),
    ):
        start = time.perf_counter()
        generator = unmess.load_generator(find_source(f"hf:{file}"), runner, CONTEXT, dtype)
        sides[name] = _Ours(generator, tokenizer)
        seconds[name] = time.perf_counter() - start
    gap = None
    try:
        peer = LlamaCpp(file, CONTEXT, threads)
        sides[PEER], seconds[PEER] = _LlamaCpp(peer), peer.load_seconds
    except Missing as problem:
        gap = problem
    expected = sides[theirs].text()
    same = {name: side.text() == expected for name, side in sides.items()}
    speeds = {name: [] for name in sides}
    for _ in range(RUNS):
        for name, side in sides.items():
            side.text()
            speeds[name].append(side.speed)
    table = Table("", "load, s", "tokens a second", "against transformers", "the same text")
    for name in sides:
        speed = statistics.median(speeds[name])
        load = f"{seconds[name]:.1f}" if name in seconds else ""
        ratio = speed / statistics.median(speeds[theirs])
        table.add_row(name, load, f"{speed:.1f}", f"{ratio:.2f}", "yes" if same[name] else "no")
    Console().print(f"{threads} threads", table)
    if gap is not None:
        print(f"llama.cpp is missing: {gap}")
    else:
        peer.close()


class _Ours:
    def __init__(self, generator: unmess.Generator, tokenizer: Any):
        self._generator = generator
        self._tokenizer = tokenizer

    def text(self) -> str:
        ids = self._tokenizer(PROMPT, return_tensors="pt").input_ids
        tokens = list(self._generator.tokens(ids, TOKENS))
        self.speed = self._generator.statistics.tokens_per_second
        return self._tokenizer.decode(tokens)


class _LlamaCpp:
    def __init__(self, server: LlamaCpp):
        self._server = server

    def text(self) -> str:
        text = self._server.text(PROMPT, TOKENS)
        self.speed = self._server.speed
        return text


class _Eager:
    """Runs `model.generate` and measures the speed of the steps after the first token."""

    def __init__(self, model: torch.nn.Module, tokenizer: Any):
        self._model = model
        self._tokenizer = tokenizer

    def text(self) -> str:
        ids = self._tokenizer(PROMPT, return_tensors="pt").input_ids
        times: list[float] = []
        tokens = self._model.generate(
            ids, do_sample=False, max_new_tokens=TOKENS, streamer=_Clock(times)
        )[0, ids.shape[1] :].tolist()
        # times[0] is the prompt, times[1] the first new token.
        self.speed = (len(tokens) - 1) / (times[-1] - times[1])
        return self._tokenizer.decode(tokens)


class _Clock:
    """A transformers streamer that records the time of each call."""

    def __init__(self, times: list[float]):
        self._times = times

    def put(self, _tokens: torch.Tensor) -> None:
        self._times.append(time.perf_counter())

    def end(self) -> None:
        pass
