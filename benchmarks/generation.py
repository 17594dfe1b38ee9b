"""SmolLM2-135M generates text: `unmess.load_generator`, transformers and llama.cpp.

The files are the published one (Q4_1), and the same weights in Q8_0. Each side reads a short and a
long prompt, and generates 64 tokens greedily, with the same number of threads; the sides alternate.
llama.cpp and iree-cpu multiply with the packed weights of the file; transformers and the reference
runner unpack them to f32. llama.cpp runs in an environment of its own, which is made the first
time; if that fails, the tables say why.

The first table has the medians of tokens per second. The second one has the time of a command that
prints one token, when its program is in the cache, and the resident memory of the weights. It also
has the share of the memory bandwidth that the weights need during generation.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import torch
from rich.console import Console
from rich.table import Table

import unmess
from benchmarks.iree_memory import mapped
from benchmarks.llama_cpp import LlamaCpp
from benchmarks.peer_environment import Missing
from importers.sources import find_source
from tools.smollm2 import smollm2, unpacked

RUNS, STARTS, TOKENS, CONTEXT = 5, 5, 64, 320
SHORT = "Once upon a time, in a village by the sea,"
LONG = """The harbour of the village is small, but boats have used it for three hundred years. In
the morning they leave before the sun rises, and in the afternoon they return with fish, crabs and
sometimes an old bottle. The houses behind the harbour are made of grey stone, with blue doors and
narrow windows, because the wind from the sea is strong in winter. On the hill stands a lighthouse.
Its keeper, a woman of seventy, knows every boat by the sound of its engine. She writes down when
each one leaves and when it comes back, in a book with a red cover. One evening in October, a boat
was missing. The keeper looked at the book, at the clock, and at the dark water. Then she took her
coat, her lamp and a rope, and walked down the steps to the harbour, where the children were already
waiting for her. She told them what she knew: the name of the boat, the hour, and"""
PEER, OURS = "llama.cpp", "iree-cpu"
_READ = 1 << 29


class Speed(NamedTuple):
    """Tokens per second of a prompt, and of the tokens after the first new one."""

    prompt: float
    new: float


def main() -> None:
    threads = torch.get_num_threads()
    files = {"Q4_1": smollm2(), "Q8_0": _q8_0(smollm2())}
    speeds = Table("file", "prompt", "", "prompt, tokens/s", "new, tokens/s", "same text")
    starts = Table("file", "", "first token, s", "weights, MB", "of the file", "of the bandwidth")
    bandwidth = _bandwidth()
    gap = None
    for name, file in files.items():
        try:
            peer = LlamaCpp(file, CONTEXT, threads)
        except Missing as problem:
            peer, gap = None, problem
        new = _add_speeds(speeds, name, file, peer)
        if peer is not None:
            peer.close()
        _add_starts(starts, name, file, threads, new, bandwidth, has_peer=peer is not None)
    console = Console(width=100)
    console.print(f"{threads} threads, which read {bandwidth / 1e9:.1f} GB/s", speeds, starts)
    if gap is not None:
        print(f"llama.cpp is missing: {gap}")


def _add_speeds(table: Table, name: str, file: Path, peer: LlamaCpp | None) -> dict[str, float]:
    """Adds a row for each prompt and side; returns the speed of new tokens after the short one."""
    tokenizer = find_source(f"hf:{file}").tokenizer
    sides = {"transformers": _Eager(unpacked(file), tokenizer)}
    if peer is not None:
        sides[PEER] = _LlamaCpp(peer)
    for runner in (OURS, "reference"):
        generator = unmess.load_generator(find_source(f"hf:{file}"), runner, CONTEXT, torch.float32)
        sides[runner] = _Ours(generator, tokenizer)
    new = {}
    for prompt in (SHORT, LONG):
        texts = {side: runner.text(prompt) for side, runner in sides.items()}
        speeds: dict[str, list[Speed]] = {side: [] for side in sides}
        for _ in range(RUNS):
            for side, runner in sides.items():
                runner.text(prompt)
                speeds[side].append(runner.speed)
        medians = {
            side: Speed(*map(statistics.median, zip(*speeds[side], strict=True))) for side in sides
        }
        count = str(len(tokenizer(prompt).input_ids))
        for side, median in medians.items():
            cells = [f"{value:.0f}" for value in median]
            if peer is not None and side != PEER:
                pairs = zip(cells, median, medians[PEER], strict=True)
                cells = [f"{cell} ({value / theirs:.2f})" for cell, value, theirs in pairs]
            is_same = texts[side] == texts["transformers"]
            table.add_row(name, count, side, *cells, "yes" if is_same else "no")
        table.add_section()
        new[prompt] = {side: median.new for side, median in medians.items()}
    return new[SHORT]


def _add_starts(
    table: Table,
    name: str,
    file: Path,
    threads: int,
    new: dict[str, float],
    bandwidth: float,
    *,
    has_peer: bool,
) -> None:
    """Adds a row for each side that reads the packed weights."""
    size, resident = file.stat().st_size, _resident(file)
    seconds: dict[str, list[float]] = {OURS: [], PEER: []}
    for number in range(STARTS + 1):
        ours = _seconds_of_command(file)
        theirs = _seconds_of_peer(file, threads) if has_peer else 0.0
        if number:  # the first one fills the caches
            seconds[OURS].append(ours)
            seconds[PEER].append(theirs)
    for side in (OURS, PEER) if has_peer else (OURS,):
        memory = (f"{resident / 1e6:.0f}", f"{resident / size:.2f}") if side == OURS else ("", "")
        time_to_first = f"{statistics.median(seconds[side]):.2f}"
        share = f"{new[side] * size / bandwidth:.0%}"
        table.add_row(name, side, time_to_first, *memory, share)


def _seconds_of_command(file: Path) -> float:
    """Returns the time from the start to the exit of a command that prints one token."""
    options = ["--on", OURS, "--max-new-tokens", "1", "--max-length", str(CONTEXT)]
    command = [sys.executable, "-m", "unmess", "generate", f"hf:{file}", "--prompt", SHORT]
    start = time.perf_counter()
    subprocess.run([*command, *options], check=True, capture_output=True)
    return time.perf_counter() - start


def _seconds_of_peer(file: Path, threads: int) -> float:
    """Returns the time from the start of a process of llama.cpp to its first token."""
    start = time.perf_counter()
    peer = LlamaCpp(file, CONTEXT, threads)
    peer.text(SHORT, 1)
    seconds = time.perf_counter() - start
    peer.close()
    return seconds


def _resident(file: Path) -> float:
    """Returns the bytes of the weights in the memory of a process that generates text."""
    command = [sys.executable, "-m", "benchmarks.generation", str(file)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _generate(file: str) -> None:
    generator = unmess.load_generator(find_source(f"hf:{file}"), OURS, CONTEXT, torch.float32)
    list(generator(SHORT, TOKENS))
    print(json.dumps(sum(mapped(".irpa").values()) * 1e6))


def _bandwidth() -> float:
    """Returns the bytes per second at which PyTorch's threads read a large tensor."""
    tensor = torch.ones(_READ // 4)
    times = []
    for _ in range(10):
        start = time.perf_counter()
        tensor.sum()
        times.append(time.perf_counter() - start)
    return _READ / min(times)


def _q8_0(file: Path) -> Path:
    """Writes the weights of a GGUF file in Q8_0, beside the file; returns the path."""
    path = file.with_name(file.name.replace("Q4_1", "Q8_0"))
    if path.exists():
        return path
    part = path.with_suffix(".part")
    reader = gguf.GGUFReader(file)
    writer = gguf.GGUFWriter(part, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            kind, *inner = field.types
            writer.add_key_value(name, field.contents(), kind, inner[-1] if inner else None)
    q8_0 = gguf.GGMLQuantizationType.Q8_0
    for tensor in reader.tensors:
        is_matrix = len(tensor.shape) == 2
        weights = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        data = gguf.quants.quantize(weights, q8_0) if is_matrix else weights
        writer.add_tensor(tensor.name, data, raw_dtype=q8_0 if is_matrix else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(part, path)
    return path


class _Ours:
    def __init__(self, generator: unmess.Generator, tokenizer: Any):
        self._generator = generator
        self._tokenizer = tokenizer

    def text(self, prompt: str) -> str:
        ids = self._tokenizer(prompt, return_tensors="pt").input_ids
        tokens = list(self._generator.tokens(ids, TOKENS))
        found = self._generator.statistics
        self.speed = Speed(found.prompt_tokens / found.prefill_seconds, found.tokens_per_second)
        return self._tokenizer.decode(tokens)


class _LlamaCpp:
    def __init__(self, server: LlamaCpp):
        self._server = server

    def text(self, prompt: str) -> str:
        text = self._server.text(prompt, TOKENS)
        self.speed = Speed(self._server.prompt_speed, self._server.speed)
        return text


class _Eager:
    """Runs `model.generate`."""

    def __init__(self, model: torch.nn.Module, tokenizer: Any):
        self._model = model
        self._tokenizer = tokenizer

    def text(self, prompt: str) -> str:
        ids = self._tokenizer(prompt, return_tensors="pt").input_ids
        times: list[float] = []
        tokens = self._model.generate(
            ids, do_sample=False, max_new_tokens=TOKENS, streamer=_Clock(times)
        )[0, ids.shape[1] :].tolist()
        # times[0] is the prompt, times[1] the first new token.
        new = (len(tokens) - 1) / (times[-1] - times[1])
        self.speed = Speed(ids.shape[1] / (times[1] - times[0]), new)
        return self._tokenizer.decode(tokens)


class _Clock:
    """A transformers streamer that records the time of each call."""

    def __init__(self, times: list[float]):
        self._times = times

    def put(self, _tokens: torch.Tensor) -> None:
        self._times.append(time.perf_counter())

    def end(self) -> None:
        pass


if __name__ == "__main__":
    _generate(sys.argv[1])
