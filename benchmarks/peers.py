"""Ten models on both CPU runners, in eager PyTorch, with Inductor, ONNX Runtime and OpenVINO.

    ./pixiw run bench peers

Each model runs in a separate process for each setting, on as many processors as threads. The sides
take turns. In each turn there is a pause, a first call, and three more calls. There is a table of
the first calls and one of the calls in a row, each with the least times. The first call also waits
until the system has woken the other threads, and reads weights that are no longer in a cache.

All results are compared with eager PyTorch. OpenVINO, and the packages with which PyTorch writes
ONNX files, are in an environment of their own (`benchmarks/locks/peers.txt`). Whatever cannot be
installed, compiled or run is named below the tables, with its reason.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import unmess
from benchmarks.iree_models import model_of, right_calls, seconds_of
from benchmarks.peer_environment import LOCKS, Missing, environment

MODELS = (
    "torchvision:resnet18",
    "torchvision:resnet50",
    "torchvision:mobilenet_v3_large",
    "torchvision:efficientnet_b0",
    "torchvision:vit_b_16",
    "torchvision:convnext_tiny",
    "torchvision:swin_t",
    "bert-base",
    "gpt2",
    "unet",
)
# Batch size and number of threads.
SETTINGS = ((1, 2), (8, 2), (1, 1))
OURS = ("iree-cpu", "reference")
PEERS = ("eager", "Inductor", "ONNX Runtime", "OpenVINO")
# The number of turns of each side, and the pause before each turn, in seconds: the threads of the
# other sides wait actively for a while after a call.
TURNS, PAUSE = 12, 0.05
# The number of calls in a row after the first call of a turn.
IN_A_ROW = 3
# The largest allowed difference from eager, relative to the largest value.
_TOLERANCE = 1e-3

Call = Callable[[], Any]


def main() -> None:
    try:
        folder = str(environment(LOCKS / "peers.txt"))
    except Missing as problem:
        print(f"OpenVINO and ONNX Runtime: {problem}")
        folder = ""
    print(_cpu_name())
    for batch, threads in SETTINGS:
        _print_tables(batch, threads, folder)


def _cpu_name() -> str:
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return f"{found[1] if found else platform.machine()}, {torch.backends.cpu.get_cpu_capability()}"


def _print_tables(batch: int, threads: int, folder: str) -> None:
    rows = {}
    for name in MODELS:
        rows[name] = _measured(name, batch, threads, folder)
        print(f"{name} is finished", file=sys.stderr, flush=True)
    for kind in ("in_a_row", "first"):
        calls = "first call of a turn" if kind == "first" else "calls in a row"
        print(f"\nbatch {batch}, {threads} threads, {calls}, least times in ms\n")
        heads = ("model", *PEERS, *OURS, "best of ours / best of the others")
        print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
        for name, row in rows.items():
            print(f"| {' | '.join((name, *_cells(row[kind])))} |")
        ratios = [ratio for row in rows.values() if (ratio := _ratio(row[kind])) is not None]
        if ratios:
            print(f"\ngeometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}")
    gaps = [
        f"{name}, {side}: {why}"
        for name, row in rows.items()
        for side, why in row["problems"].items()
    ]
    print("\n".join(["", *gaps]), flush=True)


def _cells(times: dict[str, float]) -> list[str]:
    cells = [f"{times[side] * 1e3:.1f}" if side in times else "" for side in (*PEERS, *OURS)]
    ratio = _ratio(times)
    return [*cells, "" if ratio is None else f"{ratio:.2f}"]


def _ratio(times: dict[str, float]) -> float | None:
    """Returns the least time of our runners, relative to that of the others."""
    ours, others = (
        min((times[side] for side in sides if side in times), default=None)
        for sides in (OURS, PEERS)
    )
    return None if ours is None or others is None else ours / others


def _measured(name: str, batch: int, threads: int, folder: str) -> dict[str, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers", name, str(batch), str(threads), folder],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        why = lines[-1] if lines else f"status {done.returncode}"
        return {"first": {}, "in_a_row": {}, "problems": {"the process": why}}
    return json.loads(done.stdout.splitlines()[-1])


def _measure(name: str, batch: int, threads: int, folder: str) -> dict[str, dict[str, Any]]:
    # IREE takes as many threads as there are processors.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    torch.manual_seed(0)
    torch.set_num_threads(threads)
    model, args = _example(name, batch)
    with torch.no_grad(), tempfile.TemporaryDirectory() as scratch:
        expected = model(*args)
        sides = _sides(model, args, threads, folder, Path(scratch))
        calls, problems = right_calls(sides, lambda call: call(), expected, _TOLERANCE)
        first, in_a_row = dict.fromkeys(calls, math.inf), dict.fromkeys(calls, math.inf)
        for _ in range(TURNS):
            for side, call in calls.items():
                time.sleep(PAUSE)
                first[side] = min(first[side], seconds_of(call))
                for _ in range(IN_A_ROW):
                    in_a_row[side] = min(in_a_row[side], seconds_of(call))
    return {"first": first, "in_a_row": in_a_row, "problems": problems}


def _example(name: str, batch: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """Returns a model and positional arguments with a batch."""
    if name == "unet":
        return _unet(), (torch.randn(batch, 3, 256, 256),)
    model, args, kwargs = model_of(name)
    if kwargs:
        raise ValueError(f"{name} has keyword arguments")
    return model, tuple(arg.repeat(batch, *[1] * (arg.dim() - 1)) for arg in args)


def _sides(
    model: torch.nn.Module, args: tuple, threads: int, folder: str, scratch: Path
) -> dict[str, Callable[[], Call]]:
    """Returns for each side a function that compiles the model and returns a call."""

    def load(runner: str) -> Call:
        run = unmess.load(unmess.capture(model, args), on=runner)
        return lambda: run(*args)

    def inductor() -> Call:
        compiled = torch.compile(model)
        return lambda: compiled(*args)

    file = scratch / "model.onnx"

    def onnx_file() -> str:
        if not file.exists():
            if not folder:
                raise Missing("there is no package to write ONNX files with")
            torch.onnx.export(model, args, file, dynamo=True, verbose=False)
        return str(file)

    def onnx_runtime() -> Call:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(onnx_file(), options, ["CPUExecutionProvider"])
        names = [each.name for each in session.get_inputs()]
        inputs = dict(zip(names, (arg.numpy() for arg in args), strict=True))
        return lambda: _tensors(session.run(None, inputs))

    def openvino() -> Call:
        import openvino

        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            # By default, OpenVINO computes in bf16 on processors with AMX.
            "INFERENCE_PRECISION_HINT": "f32",
        }
        compiled = openvino.Core().compile_model(onnx_file(), "CPU", settings)
        request, inputs = compiled.create_infer_request(), [arg.numpy() for arg in args]
        return lambda: _tensors(request.infer(inputs).values())

    return {
        "eager": lambda: lambda: model(*args),
        "Inductor": inductor,
        "ONNX Runtime": onnx_runtime,
        "OpenVINO": openvino,
        "iree-cpu": lambda: load("iree-cpu"),
        "reference": lambda: load("reference"),
    }


def _tensors(arrays: Any) -> list[torch.Tensor]:
    return [torch.from_numpy(array) for array in arrays]


class _Block(torch.nn.Sequential):
    def __init__(self, channels: int, filters: int):
        layers = []
        for inputs in (channels, filters):
            convolution = torch.nn.Conv2d(inputs, filters, 3, padding=1, bias=False)
            layers += [convolution, torch.nn.BatchNorm2d(filters), torch.nn.ReLU()]
        super().__init__(*layers)


class _UNet(torch.nn.Module):
    """A U-Net on ResNet-34, as in segmentation_models_pytorch."""

    FILTERS = (256, 128, 64, 32, 16)

    def __init__(self):
        import torchvision

        super().__init__()
        self.encoder = torchvision.models.resnet34()
        channels = 512
        self.blocks = torch.nn.ModuleList()
        for filters, skipped in zip(self.FILTERS, (256, 128, 64, 64, 0), strict=True):
            self.blocks.append(_Block(channels + skipped, filters))
            channels = filters
        self.head = torch.nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        encoder = self.encoder
        first = encoder.relu(encoder.bn1(encoder.conv1(image)))
        features = [first, encoder.layer1(encoder.maxpool(first))]
        for layer in (encoder.layer2, encoder.layer3, encoder.layer4):
            features.append(layer(features[-1]))
        x = features.pop()
        for block in self.blocks:
            x = torch.nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
            if features:
                x = torch.cat([x, features.pop()], 1)
            x = block(x)
        return self.head(x)


def _unet() -> torch.nn.Module:
    return _UNet().eval()


if __name__ == "__main__":
    _name, _batch, _threads, _folder = sys.argv[1:]
    if _folder:
        # Put the folder after the packages of the locked environment.
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        sys.path.append(str(Path(_folder) / "lib" / version / "site-packages"))
    print(json.dumps(_measure(_name, int(_batch), int(_threads), _folder)))
