"""Every classification model of torchvision on the runners, each compared with eager PyTorch.

    python benchmarks/sweep_torchvision.py --on iree-cpu,reference --results sweep.jsonl

Each model runs in a process of its own and adds one line of JSON to the results file. Run it again
with the same file and it goes on with the models that are missing there. Weights are random unless
the published ones are in torch.hub's cache folder; seconds are of one run each, medians of `run`
and `eager`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="names (default: all classification models)")
    parser.add_argument("--on", default="iree-cpu,reference", help="runners, by comma")
    parser.add_argument("--results", type=Path, default=Path("sweep_torchvision.jsonl"))
    parser.add_argument("--max-params", type=float, help="leave out models above, in millions")
    parser.add_argument("--timeout", type=float, default=900, help="seconds per model")
    parser.add_argument("--report", action="store_true", help="only print what is there")
    parser.add_argument("--child", metavar="MODEL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    runners = options.on.split(",")
    if options.child:
        return child(options.child, runners)
    done = read(options.results)
    if not options.report:
        sweep(options, runners, done)
    print_table(done, runners)
    wrong = [row for line in done.values() for row in line["runners"].values() if not row["ok"]]
    return 1 if wrong else 0


def sweep(options: argparse.Namespace, runners: list[str], done: dict[str, dict]) -> None:
    """Runs what is missing in `done`, and adds it there and to the results file."""
    sizes = parameter_counts()
    names = options.models or sorted(sizes, key=sizes.get)
    for name in names:
        if options.max_params and sizes[name] > options.max_params * 1e6:
            print(f"{name}: left out, {sizes[name] / 1e6:.0f} million parameters", file=sys.stderr)
            continue
        missing = [
            runner for runner in runners if runner not in done.get(name, {}).get("runners", {})
        ]
        if not missing:
            continue
        line = run_child(name, missing, options.timeout) | {"parameters": sizes[name]}
        merge(done, line)
        with options.results.open("a") as file:
            file.write(json.dumps(line) + "\n")
        states = (f"{runner} {_state(row)}" for runner, row in line["runners"].items())
        print(f"{name}: {', '.join(states)}", file=sys.stderr, flush=True)


def read(results: Path) -> dict[str, dict]:
    """The results so far by model. A line cut off by an interruption is dropped."""
    done: dict[str, dict] = {}
    if results.exists():
        for text in results.read_text().splitlines():
            try:
                merge(done, json.loads(text))
            except json.JSONDecodeError:
                continue
    return done


def merge(done: dict[str, dict], line: dict) -> None:
    """Adds a line to the results by model; runners may come in separate lines."""
    known = done.setdefault(line["model"], line)
    known["runners"] = known["runners"] | line["runners"]


def parameter_counts() -> dict[str, int]:
    """The classification models, with their number of parameters as torchvision publishes it."""
    from torchvision import models

    from importers.sources import torchvision as source

    return {
        name: models.get_model_weights(name).DEFAULT.meta["num_params"]
        for name in source.names()
        if source.task(name) in ("classification", "quantization")
    }


def run_child(name: str, runners: list[str], timeout: float) -> dict[str, Any]:
    """One model in a process of its own; the runners that it did not get to have crashed."""
    read_end, write_end = os.pipe()
    command = [sys.executable, __file__, "--child", name, "--on", ",".join(runners)]
    environment = os.environ | {
        "SWEEP_RESULT": str(write_end),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        env=environment,
        pass_fds=[write_end],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(write_end)
        try:
            process.wait(timeout)
            ended = _ending(process.returncode)
        except subprocess.TimeoutExpired:
            process.kill()
            ended = f"no end after {timeout:.0f} s"
    with os.fdopen(read_end) as events:
        rows = [json.loads(text) for text in events.read().splitlines()]
    line = {"model": name, "wall": round(time.perf_counter() - start, 1), "runners": {}}
    stage = "start"
    for row in rows:
        stage = row.pop("begins", stage)
        if "runner" in row:
            line["runners"][row["runner"]] = row
        else:
            line |= row
    for runner in runners:
        if runner not in line["runners"]:
            crashed = {"runner": runner, "ok": False, "stage": stage, "error": ended}
            line["runners"][runner] = crashed
            stage = "not reached"
    return line


def _ending(status: int) -> str:
    return f"crashed with {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def child(name: str, runners: list[str]) -> int:
    """Checks one model and writes rows of JSON to the pipe named in the environment."""
    import torch

    import unmess
    from unmess.compare import compare

    pipe = os.fdopen(int(os.environ["SWEEP_RESULT"]), "w")

    def tell(**row: Any) -> None:
        pipe.write(json.dumps(row) + "\n")
        pipe.flush()

    def failed(runner: str, problem: Exception) -> None:
        if not isinstance(problem, unmess.Error):
            problem = unmess.Error("run", f"internal error: {type(problem).__name__}: {problem}")
        tell(
            runner=runner,
            ok=False,
            stage=problem.stage,
            error=problem.cause,
            where=problem.where,
            repro=problem.repro,
        )

    tell(begins="capture")
    try:
        program = unmess.capture(f"torchvision:{name}")
        with torch.no_grad():
            result = program.eager(*program.args, **program.kwargs)
    except Exception as problem:
        for runner in runners:
            failed(runner, problem)
        return 0
    tell(
        notes=[str(note) for note in program.notes],
        result_magnitude=float(result.abs().max()),
    )
    for runner in runners:
        try:
            tell(begins="linalg")
            module = unmess.lower(program, to="linalg")
            tell(begins="compile")
            report = compare(program, unmess.load(module, on=runner), calls=1)
        except Exception as problem:
            failed(runner, problem)
            continue
        tell(
            runner=runner,
            ok=report.ok,
            stage="done" if report.ok else "compare",
            error=report.error,
            max_abs_error=report.max_abs_error,
            max_rel_error=report.max_rel_error,
            seconds={step: round(value, 4) for step, value in report.seconds.items()},
            peak_rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        )
    return 0


def _state(row: dict[str, Any]) -> str:
    if row["ok"]:
        return f"ok {row['max_rel_error']:.1e}"
    return f"{row['stage']}: {row['error']}"


# What a model reached when it stopped there: the stages before linalg, and linalg itself.
_BEFORE_LINALG = ("source", "capture", "import", "torch", "linalg")


def print_table(done: dict[str, dict], runners: list[str]) -> None:
    """One row per model, and the counts."""
    from rich.console import Console
    from rich.table import Table

    table = Table("model", "M params", "eager ms")
    for runner in runners:
        table.add_column(runner)
        table.add_column("ms", justify="right")
    counts: dict[str, Counter] = {runner: Counter() for runner in runners}
    linalg = 0
    for name in sorted(done):
        rows = done[name]["runners"]
        linalg += any(row["stage"] not in _BEFORE_LINALG for row in rows.values())
        eager = next((row["seconds"]["eager"] for row in rows.values() if "seconds" in row), None)
        cells = [name, f"{done[name]['parameters'] / 1e6:.1f}", _milliseconds(eager)]
        for runner in runners:
            row = rows.get(runner)
            cells += (
                ["-", ""]
                if row is None
                else [_state(row), _milliseconds(row.get("seconds", {}).get("run"))]
            )
            counts[runner]["not run" if row is None else row["stage"]] += 1
        table.add_row(*cells)
    console = Console(width=160 if not sys.stdout.isatty() else None)
    console.print(table)
    console.print(f"{linalg} of {len(done)} models reach linalg")
    for runner, stages in counts.items():
        console.print(f"{runner}: {', '.join(f'{n} {stage}' for stage, n in stages.items())}")


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:.0f}"


if __name__ == "__main__":
    sys.exit(main())
