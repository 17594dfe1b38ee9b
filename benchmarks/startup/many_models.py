"""Many models in one command: workers forked from one parent, and an interpreter for each model.

Goals: `check` of 30 tiny Hugging Face types takes at most a third of the time of a new interpreter
for each model. A sweep takes at most half of the time of the earlier sweep. The earlier sweep also
forked workers. It checked the models sequentially, and each worker imported the libraries of its
model.

All sides check a sample of the types. All models of a command share the imports of the parent, so
the times include only the sample's share of the time that these imports take: of 30 types for
`check`, of all types for a sweep.
"""

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from pipelines.backends.table import DEFAULT_RUNNERS
from unmess.core.processes.threads import wait_passively
from unmess.core.processes.workers import Parent
from unmess.isolated import Options, check_together, libraries_of
from unmess.matrix.cells import matching_models

_NAMES = (
    "albert bart bert bloom camembert convnext deberta distilbert electra ernie falcon gemma gpt2 "
    "gpt_neo gptj llama mistral mobilebert mpnet mpt opt phi qwen2 resnet roberta segformer "
    "squeezebert stablelm vit xglm"
)
TYPES = tuple(_NAMES.split())
SAMPLE = TYPES[::3]
# The modules that a sweep imported before it forked, before it used a `Parent`.
_BASICS = ("torch_mlir.ir", "torchvision", "transformers.modeling_utils", "unmess.api")
# The number of models that one side checks before the next side runs.
_CHUNK = 5
_CHECK_GOAL, _SWEEP_GOAL = 1 / 3, 1 / 2
# The parent of the workers, and the number of models to check at the same time.
_Side = tuple[Parent, int]


def main(types: Sequence[str] = SAMPLE) -> None:
    models = [f"hf:{name}" for name in types]
    jobs = len(os.sched_getaffinity(0))
    of_check, of_sweep = len(types) / len(TYPES), len(types) / len(matching_models(["hf:*"]))
    libraries = libraries_of(models, DEFAULT_RUNNERS)
    sides = {
        "fresh": (Parent(fork=False), 1),
        "basics": (Parent(_BASICS), 1),
        "one": (Parent(libraries), 1),
        "several": (Parent(libraries), jobs),
    }
    with contextlib.ExitStack() as stack:
        for parent, _ in sides.values():
            stack.enter_context(parent)
        imports, basic_imports = _ready(*sides["one"]), _ready(*sides["basics"])
        _ready(*sides["several"])
        caches = {side: stack.enter_context(tempfile.TemporaryDirectory()) for side in sides}
        rounds = {cache: _by_turns(models, sides, caches) for cache in ("empty", "filled")}
    table = Table("what", "cache", "before (s)", "now (s)", "ratio", "goal")

    def add(what: str, cache: str, before: float, now: float, goal: float) -> None:
        numbers = (f"{before:.1f}", f"{now:.1f}", f"{now / before:.2f}", f"{goal:.2f}")
        table.add_row(f"{what} of {len(models)} types", cache, *numbers)

    for cache, seconds in rounds.items():
        several = seconds["several"]
        for name, now in (("check", several), ("check --jobs 1", seconds["one"])):
            add(name, cache, seconds["fresh"], now + imports * of_check, _CHECK_GOAL)
        before = seconds["basics"] + basic_imports * of_sweep
        add("sweep", cache, before, several + imports * of_sweep, _SWEEP_GOAL)
    table.caption = f"the imports of the parent take {imports:.1f} s"
    Console(width=100).print(table)


def _by_turns(
    models: Sequence[str], sides: Mapping[str, _Side], caches: Mapping[str, str]
) -> dict[str, float]:
    """Checks models on both runners, a few at a time; returns the seconds of each side."""
    seconds = dict.fromkeys(sides, 0.0)
    for first in range(0, len(models), _CHUNK):
        chunk = models[first : first + _CHUNK]
        for side, (parent, jobs) in sides.items():
            elapsed = _seconds(parent, chunk, caches[side], jobs)
            print(f"{side}: {' '.join(chunk)}: {elapsed:.1f} s", file=sys.stderr, flush=True)
            seconds[side] += elapsed
    return seconds


def _ready(parent: Parent, jobs: int) -> float:
    """Waits until a parent has imported everything; returns the elapsed seconds."""
    _set_waiting(jobs)
    start = time.perf_counter()
    with parent.start("builtins:callable") as worker:
        worker.wait()
    return time.perf_counter() - start


def _set_waiting(jobs: int) -> None:
    """Sets how OpenMP's threads wait, as `unmess check` does for this number of jobs."""
    os.environ.pop("OMP_WAIT_POLICY", None)
    wait_passively(jobs)


def _seconds(parent: Parent, models: Sequence[str], cache: str, jobs: int) -> float:
    os.environ["UNMESS_CACHE"] = cache
    _set_waiting(jobs)
    start = time.perf_counter()
    work = [(model, DEFAULT_RUNNERS) for model in models]
    rows = list(check_together(parent, work, Options(timeout=600), jobs))
    seconds = time.perf_counter() - start
    for row in rows:
        if not row.ok:
            raise SystemExit(f"{row.model} on {row.runner}: {row.stage}: {row.error}")
    return seconds
