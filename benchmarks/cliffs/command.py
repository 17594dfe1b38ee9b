"""The command: collects, times, and prints the tables."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.cliffs import collecting, timing
from benchmarks.cliffs.configurations import FAMILIES, Configuration
from benchmarks.cliffs.report import SLOW, Result, print_report, result_of
from benchmarks.cliffs.store import Collected, Measurement, store
from unmess.core.processes.threads import processors
from unmess.core.processes.workers import Died, Parent, each_in_workers
from unmess.isolated import libraries_of
from unmess.matrix.cells import matching_models
from unmess.row_log import appending, read_rows, write_row

RUNNERS = ("reference", "iree-cpu")
# Recipes of different architectures. `--models '*'` searches all recipes.
_TORCHVISION = (
    *("alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s"),
    *("googlenet", "inception_v3", "maxvit_t", "mnasnet1_0", "mobilenet_v2", "mobilenet_v3_large"),
    *("regnet_y_400mf", "resnet18", "resnet50", "resnext50_32x4d", "shufflenet_v2_x1_0"),
    *("squeezenet1_1", "swin_t", "swin_v2_t", "vgg11", "vit_b_16", "wide_resnet50_2"),
    *("quantized_resnet18", "quantized_mobilenet_v2", "deeplabv3_mobilenet_v3_large"),
    *("fcn_resnet50", "lraspp_mobilenet_v3_large", "raft_small", "r3d_18", "mc3_18"),
    *("r2plus1d_18", "s3d", "mvit_v2_s", "swin3d_t", "ssdlite320_mobilenet_v3_large"),
)
_HF = (
    *("bert", "gpt2", "llama", "t5", "mixtral", "mamba", "deberta-v2", "whisper", "wav2vec2"),
    *("encodec", "beit", "detr", "segformer", "vits", "mobilevit", "clap", "dac", "rwkv"),
    *("fastspeech2_conformer", "speecht5", "mask2former", "timesformer", "xlstm"),
)
MODELS = (*(f"torchvision:{name}" for name in _TORCHVISION), *(f"hf:{name}" for name in _HF))
# Timeouts in seconds: the capture of a recipe, and a configuration on all sides.
_CAPTURE, _TIME = 300.0, 120.0
# The number of measurements in one worker. It is small because libraries keep memory allocated.
_IN_A_WORKER = 16


def main(arguments: Sequence[str] = ()) -> None:
    """Runs the search with the options of a command line."""
    options = _parser().parse_args(arguments)
    models = [*matching_models(options.models or MODELS), *collecting.EXTRA]
    runners = tuple(options.runner or RUNNERS)
    times = store(f"times-{options.threads}.jsonl")
    with Parent(libraries_of([*models, "torchvision:", "hf:"], RUNNERS)) as parent:
        users = _collected(parent, models)
        chosen = [
            each for each in ordered(users) if not options.family or each.family in options.family
        ][: options.cases]
        if not options.report:
            known = _results(chosen, users, runners, times, options.threads)
            missing = [
                each
                for each in chosen
                if any(_is_missing(known.get((each.key, name)), options.again) for name in runners)
            ]
            _time(parent, missing, times, runners, options.threads)
    results = _results(chosen, users, runners, times, options.threads)
    print_report([*results.values()], options.threads, options.rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cliffs", description=__doc__)
    parser.add_argument("--models", action="append", help="recipes, as for `unmess matrix`")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="only these operators")
    parser.add_argument("--runner", action="append", choices=RUNNERS, help="only these runners")
    parser.add_argument("--cases", type=int, help="only so many; all kinds come first")
    parser.add_argument("--rows", type=int, default=40, help="rows of the table of the slowest")
    parser.add_argument("--threads", type=int, default=processors(), help="for all sides")
    parser.add_argument(
        "--again",
        choices=("slow", "all"),
        help=f"time configurations again: all, or those above {SLOW:g} times eager",
    )
    parser.add_argument("--report", action="store_true", help="print the tables, and time nothing")
    return parser


def _collected(parent: Parent, models: Sequence[str]) -> dict[Configuration, list[str]]:
    """Returns the configurations of the models, each with the models in which it occurs."""
    file = store("configurations.jsonl")
    known = {row.model: row for row in read_rows(file, Collected)}
    missing = [model for model in models if model not in known]
    rows = each_in_workers(parent, missing, collecting.collect, _CAPTURE)
    with appending(file) as log:
        for model, row in zip(missing, rows, strict=True):
            if isinstance(row, Died):
                row = Collected(model, [], row.cause)
            write_row(log, row)
            known[model] = row
            _say(f"{model}: {row.failure or f'{len(row.configurations)} configurations'}")
    return users_of([known[model] for model in models])


def users_of(rows: Sequence[Collected]) -> dict[Configuration, list[str]]:
    """Returns the distinct configurations of recipes, each with the recipes in which it occurs."""
    users: dict[Configuration, list[str]] = {}
    for row in rows:
        for operator, args in row.configurations:
            users.setdefault(Configuration(operator, args), []).append(row.model)
    return users


def ordered(users: dict[Configuration, list[str]]) -> list[Configuration]:
    """Returns one configuration of each kind, then a second one of each kind, and so on.

    Within a kind, those in many models come first, then the larger ones.
    """
    kinds: dict[str, list[Configuration]] = {}
    for each in sorted(users, key=lambda each: (-len(users[each]), -each.elements, each.key)):
        kinds.setdefault(each.kind, []).append(each)
    rounds = itertools.zip_longest(*kinds.values())
    return [each for row in rounds for each in row if each is not None]


def _results(
    chosen: Sequence[Configuration],
    users: dict[Configuration, list[str]],
    runners: tuple[str, ...],
    times: Path,
    threads: int,
) -> dict[tuple[str, str], Result]:
    """Returns the results of the configurations that were timed, by key and runner."""
    rows: dict[str, list[Measurement]] = {}
    for row in read_rows(times, Measurement):
        rows.setdefault(row.key, []).append(row)
    return {
        (each.key, runner): result_of(each, users[each], runner, rows[each.key], threads)
        for runner in runners
        for each in chosen
        if any(runner in row.runners for row in rows.get(each.key, ()))
    }


def _is_missing(result: Result | None, again: str | None) -> bool:
    if result is None or again == "all":
        return True
    return again == "slow" and result.ratio is not None and result.ratio > SLOW


def _time(
    parent: Parent,
    missing: Sequence[Configuration],
    times: Path,
    runners: tuple[str, ...],
    threads: int,
) -> None:
    """Times configurations. Slow ones are timed a second time."""
    work = timing.Work("", {}, runners, threads)
    (call,) = each_in_workers(parent, [work], timing.measure_call, _TIME)
    if isinstance(call, Died) or call.get("failures", True):
        sys.exit(f"a program that adds two numbers fails: {call}")
    common = {"runners": list(runners), "call": call["times"]}
    slow = []
    with appending(times) as log:
        for number, (each, found) in enumerate(_measured(parent, missing, runners, threads)):
            row = Measurement(each.key, **common, **found)
            write_row(log, row)
            results = [result_of(each, (), runner, [row], threads) for runner in runners]
            texts = [
                f"{result.runner} {result.cause if result.ratio is None else f'{result.ratio:.2f}'}"
                for result in results
            ]
            _say(f"{number + 1}/{len(missing)} {', '.join(texts)}: {each}")
            if any(result.ratio is not None and result.ratio > SLOW for result in results):
                slow.append(each)
        for each, found in _measured(parent, slow, runners, threads):
            write_row(log, Measurement(each.key, **common, repeated=True, **found))


def _measured(
    parent: Parent, chosen: Sequence[Configuration], runners: tuple[str, ...], threads: int
) -> Iterator[tuple[Configuration, dict[str, Any]]]:
    for first in range(0, len(chosen), _IN_A_WORKER):
        some = chosen[first : first + _IN_A_WORKER]
        work = [timing.Work(each.operator, each.args, runners, threads) for each in some]
        for each, line in zip(
            some, each_in_workers(parent, work, timing.measure, _TIME), strict=True
        ):
            yield each, {"skipped": line.cause} if isinstance(line, Died) else line


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
