"""Lowers one model to each stage, and sends the results. This is the code that runs in the worker.

The process that waits imports this file, too, so the libraries are imported when the work begins.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from unmess.core.errors.error import Error
from unmess.core.errors.failure import as_error
from unmess.core.errors.quiet import quiet_libraries
from unmess.core.processes.children import limit_memory
from unmess.core.processes.current_stage import enter_stage, listening

if TYPE_CHECKING:
    from importers.sources.source import Source
    from unmess.core.program.program import Program

_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
_FOLDERS = re.compile(r"(?<![\w.:/-])/(?:[\w.+@-]+/)+")
STATIC, DYNAMIC = "static", "dynamic"
VARIANTS = (STATIC, DYNAMIC)
# Recipes declare no dynamic dimensions. Try the first one of every tensor, as `unmess recipe` does.
DYNAMIC_DIMENSIONS = "*.0=batch"
# A column of a Parquet file that pyarrow writes has less than 2**31 bytes.
_LONGEST_TEXT = 1 << 30


@dataclass(frozen=True)
class Settings:
    """How the models are captured.

    Attributes:
        seed: the seed of weights and inputs.
        timeout: seconds for each stage; that of the first one includes the capture.
        memory_mb: memory that a worker may allocate, in 10**6 bytes. None: no limit.
        trust: let the model's files run code.
    """

    seed: int = 0
    timeout: float | None = None
    memory_mb: float | None = None
    trust: bool = False


def work(
    send: Callable[[dict[str, Any]], None],
    model: str,
    variant: str,
    targets: Sequence[str],
    settings: Settings,
) -> None:
    """Captures a model and sends a document for each target stage as soon as it is finished.

    Each document has one of these keys: `stage`, the stage that begins; `facts` about the program
    at all targets; `failure`, an error that stops all targets; `target` with `result` or `failure`.
    """
    import torch

    from unmess.corpus.calling import described_call

    quiet_libraries()
    limit_memory(settings.memory_mb)
    sys.stdout.reconfigure(line_buffering=True)
    # With several threads, the order of sums depends on the machine.
    torch.set_num_threads(1)
    current = ["source"]

    def enter(stage: str) -> None:
        current[0] = stage
        send({"stage": stage})

    with listening(enter):
        try:
            program, weights = _captured(model, variant, settings)
            send({"facts": described_call(program, model, settings.seed, weights)})
        except KeyboardInterrupt:
            raise
        except BaseException as problem:
            send({"failure": failure(as_error(problem, current[0]))})
            return
        for target in targets:
            try:
                send({"target": target, "result": _lowered(program, target)})
            except KeyboardInterrupt:
                raise
            except BaseException as problem:
                send({"target": target, "failure": failure(as_error(problem, current[0]))})


def failure(error: Error) -> dict[str, str]:
    """Returns the stage and the cause of an error, without addresses and folders."""
    cause = _ADDRESS.sub("0x…", _FOLDERS.sub("", error.cause))
    return {"stage": error.stage, "cause": cause}


def _captured(
    model: str, variant: str, settings: Settings
) -> tuple[Program, dict[str, dict[str, Any]]]:
    """Returns a program with weights made from the seed, and their descriptions."""
    import unmess
    from importers.sources import find_source
    from importers.sources.random_weights import seeded
    from unmess.corpus.describing import set_weights

    enter_stage("source")
    # A factory in a file may draw random weights and inputs.
    with seeded():
        source = find_source(model, settings.trust)
    _check(model, source)
    weights = set_weights(source.model, model, settings.seed)
    dynamic = [DYNAMIC_DIMENSIONS] if variant == DYNAMIC else source.dynamic_shapes
    program = unmess.capture(source.model, source.args, source.kwargs, dynamic_shapes=dynamic)
    if variant == DYNAMIC and not program.signature.dynamic_inputs():
        raise Error("capture", f"{DYNAMIC_DIMENSIONS} makes no dimension dynamic")
    program.name = source.name
    return program, weights


def _check(model: str, source: Source) -> None:
    if source.entries:
        raise Error("source", f"{model} has several entry points", hint="omit #generate")
    if source.without_example is not None and not source.args and not source.kwargs:
        raise source.without_example


def _lowered(program: Program, stage: str) -> dict[str, Any]:
    """Returns the text of the IR, the counts of its operations, and the kernels at linalg."""
    import unmess
    from pipelines.analysis.operations import count_operations
    from unmess.corpus.kernels import kernels_of

    at_linalg = stage == "linalg"
    module = unmess.lower(program, to=stage, upstream_only=at_linalg)
    kernels: dict[str, dict[str, Any]] = {}
    for kernel in kernels_of(module.ir) if at_linalg else ():
        found = kernels.setdefault(kernel.sha256, {**asdict(kernel), "count": 0})
        found["count"] += 1
    # Without locations, which have paths of this machine. Literals are complete.
    text = module.ir.operation.get_asm(enable_debug_info=False, use_name_loc_as_prefix=True)
    if len(text) > _LONGEST_TEXT:
        raise Error(stage, f"the IR has {len(text)} characters, the limit is {_LONGEST_TEXT}")
    return {
        "text": text,
        "operations": {
            each.name: each.count + each.in_bodies for each in count_operations(module.ir)
        },
        "kernels": list(kernels.values()),
    }
