"""Ten models on iree-cpu, in eager PyTorch, with `torch.compile` and with IREE's own flags.

Each model runs in a separate process. The sides alternate, with the same number of threads.
`torch.compile` needs a C++ compiler. Every result is compared with eager PyTorch.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch

import unmess
from unmess.core.errors.error import first_line

MODELS = (
    "torchvision:resnet18",
    "torchvision:resnet50",
    "torchvision:mobilenet_v3_large",
    "torchvision:efficientnet_b0",
    "torchvision:convnext_tiny",
    "torchvision:vit_b_16",
    "torchvision:swin_t",
    "bert-base",
    "gpt2",
    "all-MiniLM-L6-v2",
)
# `no flags` is `iree-compile` without flags, for any x86-64. `plain` targets the host's CPU.
SIDES = ("eager", "torch.compile", "no flags", "plain", "default")
OTHERS = SIDES[:-1]
# The minimum number of calls and of seconds for each side.
CALLS, SECONDS = 5, 2.0
# For `in_a_row`: the turns of each side, the calls in a turn, and those that do not count.
_TURNS, _IN_A_ROW, _IGNORED = 12, 6, 2


def main() -> None:
    print(f"{torch.get_num_threads()} threads")
    heads = ("model", *(f"{side}, ms" for side in SIDES), *(f"{side} / default" for side in OTHERS))
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)
    for name in MODELS:
        row = measured(name)
        if isinstance(row, str):
            print(f"| {name} | {row} |", flush=True)
            continue
        times = row["times"]
        cells = (
            f"{name} ({row['preset']})",
            *(f"{times[side] * 1e3:.1f}" if side in times else "no" for side in SIDES),
            *(f"{times[side] / times['default']:.2f}" if side in times else "" for side in OTHERS),
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def measured(name: str, sides: tuple[str, ...] = SIDES) -> dict[str, Any] | str:
    """Returns times by side and the default preset, or one line with the cause of a failure."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.iree_models", name, *sides],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return lines[-1] if lines else f"status {done.returncode}"
    return json.loads(done.stdout.splitlines()[-1])


def _measure(name: str, sides: list[str]) -> dict[str, Any]:
    torch.manual_seed(0)
    model, args, kwargs = model_of(name)
    with torch.no_grad():
        expected = model(*args, **kwargs)
        calls = {"eager": model}
        # Load the default first: it keeps no decision that would affect `plain`.
        if "default" in sides:
            program = unmess.capture(model, args, kwargs)
            calls["default"] = unmess.load(program, on="iree-cpu")
        for side, cpu in (("no flags", "generic"), ("plain", "host")):
            if side in sides:
                plain = unmess.TargetOptions(preset="plain", cpu=cpu)
                calls[side] = unmess.load(program, on="iree-cpu", target=plain)
        problems = {}
        if "torch.compile" in sides:
            calls["torch.compile"] = torch.compile(model)
        for side, call in list(calls.items()):
            try:
                difference = difference_of(call(*args, **kwargs), expected)
            except Exception as problem:
                problems[side] = str(problem).splitlines()[0]
                del calls[side]
                continue
            if not difference < 1e-3:
                raise SystemExit(f"{side} of {name} differs from eager by {difference:.1e}")
        measured = {side: calls[side] for side in sides if side in calls}
        times, cpu_times = by_turns(measured, args, kwargs)
    notes = [note.text for note in calls["default"].notes if note.kind == "preset"]
    preset = notes[-1].partition(":")[0]
    return {"times": times, "cpu_times": cpu_times, "preset": preset, "problems": problems}


def by_turns(
    calls: dict[str, Callable], args: tuple, kwargs: dict
) -> tuple[dict[str, float], dict[str, float]]:
    """Returns median seconds and least CPU seconds per call. Other load affects CPU time less."""
    times: dict[str, list[float]] = {side: [] for side in calls}
    cpu_times: dict[str, list[float]] = {side: [] for side in calls}
    while any(len(own) < CALLS or sum(own) < SECONDS for own in times.values()):
        for side, call in calls.items():
            start, cpu_start = time.perf_counter(), time.process_time()
            call(*args, **kwargs)
            times[side].append(time.perf_counter() - start)
            cpu_times[side].append(time.process_time() - cpu_start)
    medians = {side: statistics.median(own) for side, own in times.items()}
    return medians, {side: min(own) for side, own in cpu_times.items()}


def seconds_of(call: Callable[[], Any]) -> float:
    """Returns the seconds that a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_a_row(calls: dict[str, Callable], args: tuple, turns: int = _TURNS) -> dict[str, float]:
    """Returns median seconds per call, of calls in a row.

    After a call, threads of PyTorch and of ONNX Runtime spin for some milliseconds, which disturbs
    the next side. So each side makes several calls in a row, and the first two do not count.
    """
    times: dict[str, list[float]] = {side: [] for side in calls}
    for _ in range(turns):
        for side, call in calls.items():
            for index in range(_IN_A_ROW):
                start = time.perf_counter()
                call(*args)
                if index >= _IGNORED:
                    times[side].append(time.perf_counter() - start)
    return {side: statistics.median(own) for side, own in times.items()}


def right_calls(
    builds: dict[str, Callable[[], Callable]],
    results_of: Callable[[Callable], Any],
    expected: Any,
    tolerance: float,
) -> tuple[dict[str, Callable], dict[str, str]]:
    """Compiles each side, and compares its results with eager's.

    Args:
        builds: functions that compile and return a call, by side.
        results_of: makes the calls whose results are compared.
        tolerance: the largest allowed difference, relative to the largest magnitude.

    Returns:
        The calls with right results, and the reason for each other side.
    """
    calls, problems = {}, {}
    for side, build in builds.items():
        try:
            call = build()
            difference = difference_of(results_of(call), expected)
        except Exception as problem:
            problems[side] = first_line(problem)
            continue
        if difference < tolerance:
            calls[side] = call
        else:
            problems[side] = f"it differs from eager by {difference:.1e}"
    return calls, problems


def difference_of(result: Any, expected: Any) -> float:
    """Returns the largest difference, relative to the largest magnitude of each tensor."""
    pairs = zip(_tensors(result), _tensors(expected), strict=True)
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)


def _tensors(tree: Any) -> list[torch.Tensor]:
    leaves = torch.utils._pytree.tree_leaves(tree)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def model_of(name: str) -> tuple[torch.nn.Module, tuple, dict]:
    """Returns a model with its arguments: a source with a colon, or one of three names."""
    import transformers

    from importers.sources import find_source

    if name == "all-MiniLM-L6-v2":
        from examples.demo import minilm_folder

        found = find_source(f"hf:{minilm_folder()}")
        return found.model, found.args, found.kwargs
    if ":" in name:
        found = find_source(name)
        return found.model, found.args, found.kwargs
    ids = torch.randint(1000, 20000, (1, 128))
    if name == "gpt2":
        config = transformers.GPT2Config(use_cache=False)
        return transformers.GPT2LMHeadModel(config).eval(), (ids,), {}
    if name == "bert-base":
        return transformers.BertModel(transformers.BertConfig()).eval(), (ids,), {}
    raise SystemExit(f"unknown model {name!r}: write a source, such as torchvision:resnet18")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNMESS_CACHE"] = folder
        print(json.dumps(_measure(sys.argv[1], sys.argv[2:])))
