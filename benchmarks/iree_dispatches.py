"""Profiles one model on iree-cpu by dispatch, with IREE's own profiler.

python -m benchmarks.iree_dispatches torchvision:resnet18 [PRESET]

The weights of a GGUF file stay packed, as on iree-cpu.
"""

import json
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch
from rich.console import Console
from rich.table import Table
from safetensors.torch import save_file

import unmess
from benchmarks.iree_models import model_of
from pipelines.iree.compiler import compile_for
from pipelines.iree.packing import unpacked_names
from pipelines.iree.parameters import SCOPE
from pipelines.iree.presets import PRESETS, preset_for
from pipelines.iree.targets import target
from pipelines.iree.vm_module import for_iree
from pipelines.rearranged import with_rearranged

SHOWN, CALLS = 12, 10


@dataclass
class Dispatch:
    """The calls of a dispatch in one call of a program.

    Attributes:
        name: contains the root operation and the loop sizes.
        calls: the number of calls in one call of the program.
        wall, cpu: ms of these calls: from the first thread's start to the last one's end, and
            summed over threads.
    """

    name: str
    calls: int
    wall: float
    cpu: float


def main() -> None:
    if not sys.argv[1:]:
        raise SystemExit(__doc__)
    name, *preset = sys.argv[1:]
    model, args, kwargs = model_of(name)
    with torch.no_grad():
        program = unmess.capture(model, args, kwargs)
    module = unmess.lower(program)
    chosen = preset[0] if preset else preset_for(module)
    inputs = torch.utils._pytree.tree_leaves((args, kwargs))
    dispatches = sorted(measured(module, chosen, inputs), key=lambda each: -each.cpu)
    cpu = sum(each.cpu for each in dispatches)
    wall = sum(each.wall for each in dispatches)
    calls = sum(each.calls for each in dispatches)
    table = Table("dispatch", "calls", "wall, ms", "CPU, ms", "of all")
    for each in dispatches[:SHOWN]:
        table.add_row(
            each.name,
            str(each.calls),
            f"{each.wall:.2f}",
            f"{each.cpu:.2f}",
            f"{each.cpu / cpu:.0%}",
        )
    Console(width=140).print(
        f"{name}, {chosen}: {calls} dispatches, {wall:.1f} ms, CPU {cpu:.1f} ms", table
    )


def measured(module: unmess.Module, preset: str, inputs: list[torch.Tensor]) -> Iterator[Dispatch]:
    """Yields the dispatches of a program, without those that run only once, at load.

    Args:
        inputs: the arguments of the program, in order, without buffers.
    """
    with tempfile.TemporaryDirectory() as folder:
        program, weights, profile = (
            Path(folder) / name for name in ("p.vmfb", "w.safetensors", "p")
        )
        code, tensors = _compiled(module, preset)
        program.write_bytes(code)
        save_file(tensors, weights)
        given = []
        for index, tensor in enumerate(inputs):
            numpy.save(Path(folder) / f"{index}.npy", tensor.numpy())
            given.append(f"--input=@{folder}/{index}.npy")
        _run(
            "iree-benchmark-module",
            f"--module={program}",
            f"--parameters={SCOPE}={weights}",
            "--device=local-task",
            f"--task_topology_max_group_count={torch.get_num_threads()}",
            "--function=main",
            f"--benchmark_min_time={CALLS}x",
            *given,
            "--device_profiling_mode=host-execution",
            f"--device_profiling_output={profile}",
        )
        lines = _run("iree-profile", "dispatch", "--format=jsonl", profile).splitlines()
    groups = [each for each in map(json.loads, lines) if each["type"] == "host_dispatch_group"]
    # Dispatches of the program run in each call; others run once.
    runs = min(each["count"] for each in groups if each["count"] > 1)
    for each in groups:
        if each["count"] >= runs:
            yield Dispatch(
                each["key"],
                each["count"] // runs,
                each["total_ns"] / runs / 1e6,
                each["total_tile_duration_sum_ns"] / runs / 1e6,
            )


def _compiled(module: unmess.Module, preset: str) -> tuple[bytes, dict[str, torch.Tensor]]:
    """Returns the VM module of a program and the weights that it reads. Changes the IR."""
    chosen = target("iree-cpu")
    module, rearranged = for_iree(module, chosen)
    code = compile_for(module, chosen, PRESETS[preset])
    weights = with_rearranged(module.weights, rearranged)
    return code, {name: weights[name].clone() for name in unpacked_names(code, weights)}


def _run(tool: str, *arguments) -> str:
    command = [Path(sysconfig.get_path("scripts")) / tool, *arguments]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{tool}: {(done.stderr.strip() or done.stdout).splitlines()[0]}")
    return done.stdout


if __name__ == "__main__":
    main()
