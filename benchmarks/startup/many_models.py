"""Many models in one command: workers forked from one parent, and an interpreter for each model.

Goals: `check` of 30 tiny Hugging Face types takes at most a third of the time of a new interpreter
for each model. A sweep takes at most half of the time of one that forks, but checks the models
sequentially and lets each worker import what it needs beyond the basics.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from pipelines.backends.table import DEFAULT_RUNNERS
from unmess.core.processes.workers import Parent
from unmess.isolated import Options, check_together, libraries_of

_NAMES = (
    "albert bart bert bloom camembert convnext deberta distilbert electra ernie falcon gemma gpt2 "
    "gpt_neo gptj llama mistral mobilebert mpnet mpt opt phi qwen2 resnet roberta segformer "
    "squeezebert stablelm vit xglm"
)
TYPES = tuple(_NAMES.split())
# The modules that a sweep imported before it forked, before it used a `Parent`.
_BASICS = ("torch_mlir.ir", "torchvision", "transformers.modeling_utils", "unmess.api")
# The number of models that one side checks before the next side runs.
_CHUNK = 6
_CHECK_GOAL, _SWEEP_GOAL = 1 / 3, 1 / 2


def main(types: Sequence[str] = TYPES) -> None:
    models = [f"hf:{name}" for name in types]
    jobs = len(os.sched_getaffinity(0))
    table = Table("what", "cache", "before (s)", "now (s)", "ratio", "goal")

    def add(what: str, cache: str, before: float, now: float, goal: float) -> None:
        numbers = (f"{before:.1f}", f"{now:.1f}", f"{now / before:.2f}", f"{goal:.2f}")
        table.add_row(f"{what} of {len(models)} types", cache, *numbers)

    fresh, basics = Parent(fork=False), Parent(_BASICS)
    now = Parent(libraries_of(models, DEFAULT_RUNNERS))
    with fresh, basics, now:
        # The imports of the parent count in each time.
        imports = _ready(now)
        rounds = _by_turns(models, [(fresh, 1), (now, 1), (now, jobs)])
        for cache, (before, one, several) in rounds.items():
            add("check", cache, before, imports + one, _CHECK_GOAL)
            add(f"check --jobs {jobs}", cache, before, imports + several, _CHECK_GOAL)
        basic_imports = _ready(basics)
        before, several = _by_turns(models, [(basics, 1), (now, jobs)])["empty"]
        add("sweep", "empty", basic_imports + before, imports + several, _SWEEP_GOAL)
    table.caption = f"each time of now includes {imports:.1f} s for the imports of the parent"
    Console(width=100).print(table)


def _by_turns(
    models: Sequence[str], sides: Sequence[tuple[Parent, int]]
) -> dict[str, tuple[float, ...]]:
    """Checks models on both runners, a few at a time, with an empty cache and with a filled one.

    Args:
        sides: the parent of the workers, and the number of models to check at the same time.

    Returns:
        The seconds of each side, by the state of the cache.
    """
    found = {}
    with contextlib.ExitStack() as stack:
        caches = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in sides]
        for state in ("empty", "filled"):
            seconds = [0.0 for _ in sides]
            for first in range(0, len(models), _CHUNK):
                for side, (parent, jobs) in enumerate(sides):
                    chunk = models[first : first + _CHUNK]
                    seconds[side] += _seconds(parent, chunk, caches[side], jobs)
            found[state] = tuple(seconds)
    return found


def _ready(parent: Parent) -> float:
    """Waits until a parent has imported everything; returns the elapsed seconds."""
    start = time.perf_counter()
    with parent.start("builtins:callable") as worker:
        worker.wait()
    return time.perf_counter() - start


def _seconds(parent: Parent, models: Sequence[str], cache: str, jobs: int) -> float:
    os.environ["UNMESS_CACHE"] = cache
    start = time.perf_counter()
    work = [(model, DEFAULT_RUNNERS) for model in models]
    rows = list(check_together(parent, work, Options(timeout=600), jobs))
    seconds = time.perf_counter() - start
    for row in rows:
        if not row.ok:
            raise SystemExit(f"{row.model} on {row.runner}: {row.stage}: {row.error}")
    return seconds
