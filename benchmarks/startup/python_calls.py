"""Calls in Python: `import unmess`, the first capture in a process, loading a cached program.

Goals: `import unmess` takes under 0.1 s. The first `unmess.capture` of a small module takes at most
1.2 times `torch.export.export` of it, both with their imports. Loading a program from the cache
takes at most 1.1 times reading its files; both are timed after an earlier load in the process, so
without imports.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.startup.by_turns import times_of
from pipelines.backends.table import DEFAULT_RUNNERS

_IMPORT_GOAL, _CAPTURE_GOAL, _LOAD_GOAL = 0.1, 1.2, 1.1
_MODULE = (
    "from torch import nn\n"
    "module = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))\n"
    "args = (torch.randn(2, 8),)\n"
)
_COMMANDS = {
    "nothing": "pass",
    "import": "import unmess",
    "export": f"import torch\n{_MODULE}torch.export.export(module, args)",
    "capture": f"import torch, unmess\n{_MODULE}unmess.capture(module, args)",
}
_CALLS = 7


def main() -> None:
    seconds = times_of({name: ("-c", code) for name, code in _COMMANDS.items()}, rounds=7)
    table = Table("call", "seconds", "beside", "seconds", "ratio", "goal")
    imported = max(seconds["import"] - seconds["nothing"], 0)
    table.add_row("import unmess", f"{imported:.3f}", "", "", "", f"{_IMPORT_GOAL} s")

    def add(call: str, own: float, beside: str, other: float, goal: float) -> None:
        row = (call, f"{own:.3f}", beside, f"{other:.3f}", f"{own / other:.2f}", str(goal))
        table.add_row(*row)

    own, other = seconds["capture"], seconds["export"]
    add("unmess.capture, first", own, "torch.export.export, first", other, _CAPTURE_GOAL)
    for model in ("torchvision:resnet18", "torchvision:vit_b_16"):
        for runner in DEFAULT_RUNNERS:
            with _empty_cache() as folder:
                load, read = _load_and_read(model, runner, folder)
            add(f"load {model} on {runner}", load, "reading its files", read, _LOAD_GOAL)
    Console(width=120).print(table)


@contextlib.contextmanager
def _empty_cache() -> Iterator[Path]:
    """Gives unmess a new cache folder, and returns it."""
    before = os.environ.get("UNMESS_CACHE")
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["UNMESS_CACHE"] = folder
            yield Path(folder)
    finally:
        del os.environ["UNMESS_CACHE"]
        if before is not None:
            os.environ["UNMESS_CACHE"] = before


def _load_and_read(model: str, runner: str, cache: Path) -> tuple[float, float]:
    """Loads a cached program, and reads all files of the cache, in alternation.

    Returns:
        The median seconds of both.
    """
    import unmess
    from unmess.program_cache.capturing import Need, look_up
    from unmess.program_cache.request import Request
    from unmess.program_cache.stored import read as read_program

    command = [sys.executable, "-m", "unmess", "import", model, "--to", "raw", "-q"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    request = Request(model)

    def load() -> None:
        unmess.load(read_program(look_up(request, Need())), on=runner)

    def read() -> None:
        for file in files:
            file.read_bytes()

    # This call compiles.
    load()
    files = [file for file in cache.rglob("*") if file.is_file()]
    times: dict[Callable[[], None], list[float]] = {load: [], read: []}
    for _ in range(_CALLS):
        for call, elapsed in times.items():
            begin = time.perf_counter()
            call()
            elapsed.append(time.perf_counter() - begin)
    return statistics.median(times[load]), statistics.median(times[read])
