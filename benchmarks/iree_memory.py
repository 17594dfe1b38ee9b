"""Memory that loading BERT-base on iree-cpu adds, in two processes at the same time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """Prints a table: sizes of weights and module, and the memory that loading and calling add."""
    with tempfile.TemporaryDirectory() as folder:
        _write_model(Path(folder, "bert"))
        environment = {**os.environ, "UNMESS_CACHE": str(Path(folder, "cache"))}
        command = [sys.executable, "-m", "benchmarks.iree_memory", str(Path(folder, "bert"))]
        processes, reports = [], []
        # The first process compiles and fills the cache; the second one reads it.
        for _ in range(2):
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment,
            )
            processes.append(process)
            reports.append(json.loads(process.stdout.readline()))
        shares = []
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
            shares.append(json.loads(process.stdout.readline()))
        for process in processes:
            process.communicate("\n")
    print("| process | weights | module | load | peak | of weights | own | shared | private |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for number, (report, share) in enumerate(zip(reports, shares, strict=True), 1):
        print(
            f"| {number} | {report['weights']:.0f} MB | {report['module']:.2f} MB "
            f"| {report['seconds']:.2f} s | {report['peak']:.0f} MB "
            f"| {report['peak'] / report['weights']:.2f} | {report['own']:.0f} MB "
            f"| {share['shared']:.0f} MB | {share['private']:.0f} MB |"
        )


def _write_model(folder: Path) -> None:
    import torch
    import transformers

    torch.manual_seed(0)
    transformers.BertModel(transformers.BertConfig()).eval().save_pretrained(folder)


def _load(folder: str) -> None:
    import torch

    import unmess
    from pipelines.iree.targets import target
    from pipelines.iree.vm_module import vm_module

    torch.set_num_threads(1)
    program = unmess.capture(f"hf:{folder}")
    module = unmess.lower(program)
    before = _status()
    Path("/proc/self/clear_refs").write_text("5")
    run = unmess.load(module, on="iree-cpu")
    run(*program.args, **program.kwargs)
    after = _status()
    code = vm_module(module, "iree-cpu", target("iree-cpu"), {"lower": 0.0}).code
    report = {
        "weights": sum(tensor.nbytes for tensor in program.weights.values()) / 1e6,
        "module": len(code) / 1e6,
        "seconds": run.seconds["load"],
        "peak": after["VmHWM"] - before["VmRSS"],
        "own": after["RssAnon"] - before["RssAnon"],
    }
    print(json.dumps(report), flush=True)
    input()
    print(json.dumps(mapped(".irpa")), flush=True)
    # Keep the files mapped while the other process is measured.
    input()


def _status() -> dict[str, float]:
    """Returns the memory of this process, in 10**6 bytes."""
    found = re.findall(r"(VmHWM|VmRSS|RssAnon):\s+(\d+) kB", Path("/proc/self/status").read_text())
    return {name: int(value) * 1024 / 1e6 for name, value in found}


def mapped(suffix: str) -> dict[str, float]:
    """Returns the resident pages of mapped files with a suffix, in 10**6 bytes."""
    total, inside = {"shared": 0.0, "private": 0.0}, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(suffix)
        elif inside and (match := re.match(r"(Shared|Private)_\w+:\s+(\d+) kB", line)):
            total[match[1].lower()] += int(match[2]) * 1024 / 1e6
    return total


if __name__ == "__main__":
    _load(sys.argv[1])
