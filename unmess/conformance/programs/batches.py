"""Calls random programs on a runner and in eager. A crash only fails one program."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch

import unmess
import unmess.bundle
from unmess.conformance.programs.hostile import IndexProgram
from unmess.conformance.programs.loops import LoopProgram
from unmess.core.processes.temporary_folders import temporary_folder
from unmess.core.processes.workers import Died, each_in_workers
from unmess.isolated import shared_parent
from unmess.packaging import package

# Their arguments are tensors.
Program = IndexProgram | LoopProgram

CALLS = 3
_SECONDS = 900.0


@dataclass
class Found:
    """The outcomes of calls.

    Attributes:
        raised: the number of calls for which eager raises.
        returned: the number of calls for which eager returns.
        wrong: a text for each call for which the runner differs from eager.
    """

    raised: int = 0
    returned: int = 0
    wrong: list[str] = field(default_factory=list)


def check_batch(programs: Sequence[Program], runner: str) -> Found:
    """Calls each program `CALLS` times.

    Args:
        programs: the programs, which become the entry points of one module.
        runner: a runner, or `bundle` for a bundle of `iree-cpu`.
    """
    (found,) = each_in_workers(shared_parent(), [(programs, runner)], _check, _SECONDS)
    if not isinstance(found, Died):
        return found
    if len(programs) == 1:
        return Found(wrong=[f"{found.cause}\n{programs[0].source}"])
    alone = [check_batch([program], runner) for program in programs]
    wrong = [text for each in alone for text in each.wrong]
    return Found(wrong=wrong or [f"together, but not alone: {found.cause}"])


def _check(work: tuple[Sequence[Program], str]) -> Found:
    programs, runner = work
    torch.set_num_threads(1)
    found = Found()
    with warnings.catch_warnings(), temporary_folder() as folder:
        warnings.simplefilter("ignore")
        run = _loaded(programs, runner, Path(folder))
        for number, program in enumerate(programs):
            model = program.model()
            for args in program.calls(CALLS):
                problem = _problem(found, model, args, partial(run, number))
                if problem:
                    given = ", ".join(f"torch.{each}" for each in args)
                    found.wrong.append(f"{problem}\narguments: {given}\n{program.source}")
    return found


def _problem(
    found: Found, model: torch.nn.Module, args: tuple[torch.Tensor, ...], run: Callable
) -> str | None:
    try:
        expected = model(*(each.clone() for each in args))
    except (IndexError, RuntimeError) as refusal:
        found.raised += 1
        try:
            run(*args)
        except unmess.Error as error:
            return None if error.stage == "run" else str(error)
        return f"no error, but eager raises: {refusal}"
    found.returned += 1
    try:
        torch.testing.assert_close(run(*args), expected, equal_nan=True)
    except (unmess.Error, AssertionError) as problem:
        return str(problem)
    return None


def _loaded(programs: Sequence[Program], runner: str, folder: Path) -> Callable:
    captured = {
        f"program_{number}": unmess.capture(
            program.model(), next(program.calls(1)), dynamic_shapes=program.dynamic_shapes
        )
        for number, program in enumerate(programs)
    }
    program = unmess.combine(captured)
    if runner != "bundle":
        run = unmess.load(program, on=runner)
        return lambda number, *args: run[f"program_{number}"](*args)
    package(program, folder / "bundle")
    bundle = unmess.bundle.load(folder / "bundle")

    def call(number, *args):
        results = bundle[f"program_{number}"](*(each.numpy() for each in args))
        return tuple(torch.from_numpy(result) for result in results)

    return call
