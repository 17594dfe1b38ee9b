"""Where the time of one model on iree-cpu goes: its dispatches, each called alone.

    python -m benchmarks iree_dispatches torchvision:resnet18 [PRESET]

IREE's compiler cuts each dispatch out of the program; `iree-benchmark-module` calls it, on as many
threads as the model gets. What is between dispatches is not in the sum.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

import unmess
from benchmarks.iree_models import model_of
from pipelines.iree.compiler import options_for, text_for
from pipelines.iree.presets import PRESETS, preset_for
from pipelines.iree.targets import target

SHOWN = 15
_CALL = re.compile(r"flow\.dispatch @(\w+)::")
_KIND = re.compile(r"_dispatch_\d+_(.*?)_benchmark")


@dataclass
class Dispatch:
    """A dispatch of a program.

    Attributes:
        name: with the operation at its root, and the sizes of its loops.
        calls: in one call of the program.
        seconds: of one call, median.
    """

    name: str
    calls: int
    seconds: float


def main() -> None:
    if not sys.argv[2:]:
        raise SystemExit(__doc__)
    name, *preset = sys.argv[2:]
    model, args, kwargs = model_of(name)
    with torch.no_grad():
        module = unmess.lower(unmess.capture(model, args, kwargs))
    chosen = preset[0] if preset else preset_for(module)
    options = options_for(module, target("iree-cpu"), PRESETS[chosen].options)
    dispatches = measured(text_for(module, target("iree-cpu")), options)
    dispatches.sort(key=lambda each: -each.calls * each.seconds)
    total = sum(each.calls * each.seconds for each in dispatches)
    table = Table("dispatch", "calls", "one, ms", "all, ms", "of the sum")
    for each in dispatches[:SHOWN]:
        everything = each.calls * each.seconds
        table.add_row(
            each.name,
            str(each.calls),
            f"{each.seconds * 1e3:.2f}",
            f"{everything * 1e3:.1f}",
            f"{everything / total:.0%}",
        )
    calls = sum(each.calls for each in dispatches)
    heading = f"{name}, {chosen}: {calls} dispatches, {total * 1e3:.1f} ms"
    Console(width=140).print(heading, table)


def measured(text: str, options: tuple[str, ...]) -> list[Dispatch]:
    """Every dispatch of a program, measured alone.

    Args:
        text: the program, as `iree-compile` takes it.
        options: of `iree-compile`.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, cut = folder / "program.mlir", folder / "dispatches"
        program.write_text(text)
        flow = _run("iree-compile", *options, program, "--compile-to=flow", "-o", "-")
        calls = Counter(_CALL.findall(flow))
        _run(
            *("iree-compile", *options, program, "-o", "/dev/null"),
            f"--iree-hal-dump-executable-benchmarks-to={cut}",
        )
        files = sorted(cut.glob("*_benchmark.mlir"))
        with ThreadPoolExecutor(2) as pool:
            compiled = list(pool.map(lambda file: _compiled(file, options), files))
        found = []
        for file in compiled:
            executable = next((each for each in calls if f"_{each}_" in file.name), None)
            for entry, seconds in _seconds(file):
                found.append(Dispatch(entry, calls[executable] or 1, seconds))
        return found


def _compiled(file: Path, options: tuple[str, ...]) -> Path:
    result = file.with_suffix(".vmfb")
    # What is cut out has gone through the first half of the compiler.
    target_options = [option for option in options if "preprocessing" not in option]
    _run("iree-compile", *target_options, file, "-o", result)
    return result


def _seconds(file: Path) -> list[tuple[str, float]]:
    text = _run(
        "iree-benchmark-module",
        f"--module={file}",
        "--device=local-task",
        f"--task_topology_max_group_count={torch.get_num_threads()}",
        "--benchmark_repetitions=5",
        "--benchmark_min_time=0.02s",
        "--benchmark_format=json",
    )
    found = json.loads(text[text.index("{") :])["benchmarks"]
    return [
        (each["run_name"], each["real_time"] / 1e3 / 1e3 / 1e3 * _UNITS[each["time_unit"]])
        for each in found
        if each.get("aggregate_name") == "median"
    ]


_UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def _run(*command) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {(done.stderr.strip() or done.stdout).splitlines()[0]}")
    return done.stdout
