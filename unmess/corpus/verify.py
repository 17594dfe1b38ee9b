"""Replays a sample of a corpus, in processes with upstream MLIR and NumPy alone."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unmess.core.errors.error import Error
from unmess.core.processes.threads import in_threads
from unmess.core.processes.workers import Died, Parent, each_in_workers
from unmess.corpus.replay.outcome import NOT_CHECKABLE, WRONG
from unmess.corpus.tensors import seed_of
from unmess.corpus.writing import read_table

# The modules that the parent of the workers imports.
LIBRARIES = ("numpy", "mlir.execution_engine", "unmess.corpus.replay.programs")
_KERNEL = "unmess.corpus.replay.checking:replay"
_PROGRAM = "unmess.corpus.replay.programs:replay_program"
_CHUNK = 16


def check_upstream() -> None:
    """Raises an Error (`load`) if upstream MLIR is not installed."""
    if importlib.util.find_spec("mlir") is None:
        raise Error(
            "load",
            "xtc-mlir-python-bindings, the bindings of upstream MLIR, is not installed",
            hint="run `unmess doctor` to compare the environment with the lock",
        )


def sample_kernels(folder: Path, count: int | None, seed: int) -> list[tuple[str, str, int]]:
    """Returns kernels as `checking.replay` takes them.

    Args:
        count: how many; None for all.
        seed: of the sample, and of the values of the arguments.

    Raises:
        Error: stage `usage`; the folder has no kernels.
    """
    rows = read_table(folder, "kernels", ["sha256", "text"])
    if not rows:
        raise Error(
            "usage",
            f"the corpus in {folder} has no kernels",
            hint="write it with the stage linalg: `unmess corpus --at linalg`",
        )
    order = _order([row["sha256"] for row in rows], seed)
    return [(rows[index]["sha256"], rows[index]["text"], seed) for index in order[:count]]


def sample_programs(folder: Path, count: int | None, seed: int) -> list[tuple[dict[str, Any], str]]:
    """Returns programs at linalg as `programs.replay_program` takes them. See `sample_kernels`."""
    texts = {
        (row["model"], row["variant"]): row["text"]
        for row in read_table(folder, "programs", ["model", "variant", "stage", "text"])
        if row["stage"] == "linalg" and row["text"] is not None
    }
    rows = read_table(folder, "models")
    rows = [row for row in rows if (row["model"], row["variant"]) in texts]
    order = _order([f"{row['model']} {row['variant']}" for row in rows], seed)
    chosen = [rows[index] for index in order[:count]]
    return [(row, texts[row["model"], row["variant"]]) for row in chosen]


def _order(names: list[str], seed: int) -> np.ndarray:
    """Returns a random order that depends only on the names and the seed."""
    keys = [seed_of(seed, name, "sample") for name in names]
    return np.argsort(np.array(keys, np.int64), kind="stable")


def replay_kernels(
    parent: Parent, kernels: list[tuple[str, str, int]], timeout: float, jobs: int
) -> Iterator[dict[str, Any]]:
    """Replays kernels, and yields a document for each: the fields of `Replay`.

    Args:
        timeout: seconds for each kernel.
        jobs: number of workers at the same time.
    """
    return _replay(parent, _KERNEL, kernels, timeout, jobs)


def replay_programs(
    parent: Parent, programs: list[tuple[dict[str, Any], str]], timeout: float, jobs: int
) -> Iterator[dict[str, Any]]:
    """Replays programs. See `replay_kernels`."""
    return _replay(parent, _PROGRAM, programs, timeout, jobs)


def _replay(
    parent: Parent, function: str, items: list[Any], timeout: float, jobs: int
) -> Iterator[dict[str, Any]]:
    def work(chunk: list[Any]) -> Iterator[dict[str, Any]]:
        for item, result in zip(
            chunk, each_in_workers(parent, chunk, function, timeout), strict=True
        ):
            yield _died(item, result) if isinstance(result, Died) else vars(result)

    chunks = [items[start : start + _CHUNK] for start in range(0, len(items), _CHUNK)]
    return in_threads(chunks, work, jobs)


def _died(item: Any, death: Died) -> dict[str, Any]:
    name = item[0] if isinstance(item[0], str) else f"{item[0]['model']} ({item[0]['variant']})"
    # An item that takes too long may be right. One that crashes is wrong.
    result = NOT_CHECKABLE if death.cause.startswith("timed out") else WRONG
    return {"name": name, "result": result, "reason": death.cause, "elements": 0, "of": 0}
