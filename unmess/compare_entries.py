"""Compares entry points with eager PyTorch, one after the other, because they share state."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch

from pipelines.backends.executable import Executable
from unmess.compare import Report, compare
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs


def compare_program(program: Program | Programs, executable: Executable, calls: int = 5) -> Report:
    """Compares a program with eager, or each of several. See `compare` and `compare_entries`."""
    if isinstance(program, Programs):
        return compare_entries(program, executable, calls)
    return compare(program, executable, calls)


def compare_entries(programs: Programs, executable: Executable, calls: int = 5) -> Report:
    """Compares each entry point with eager on its example arguments, in the programs' order.

    Both sides start from the model's own state. Each entry point starts from the state that those
    before it left.

    Args:
        calls: timed calls of each side and entry point, after the one that is compared.

    Returns:
        A Report whose differences carry their entry point's name, whose `run` and `eager` are the
        sums of the entry points' medians, and whose `entries` are the single Reports.

    Raises:
        Error: stage `run`, if either side does not run.
    """
    eager = {entry: program.eager for entry, program in programs.entries.items()}
    if executable.state:
        # Copy them together, so that the copies share the tensors that the models share.
        eager = copy.deepcopy(eager)
    initial = {name: tensor.clone() for name, tensor in executable.state.items()}
    reports: dict[str, Report] = {}
    for entry, program in programs.entries.items():
        program = replace(program, eager=eager[entry])
        reports[entry] = compare(program, executable[entry], calls)
        if executable.state:
            # The comparison restores the state of both sides, so call each once to advance it.
            for side in (program.eager, executable[entry]):
                args, kwargs = copy.deepcopy((program.args, program.kwargs))
                with torch.no_grad():
                    side(*args, **kwargs)
    executable.state.update(initial)
    seconds = dict(executable.seconds)
    for side in ("run", "eager"):
        if all(side in report.seconds for report in reports.values()):
            seconds[side] = sum(report.seconds[side] for report in reports.values())
    return Report(
        model=programs.name,
        runner=executable.runner,
        ok=all(report.ok for report in reports.values()),
        differences=[
            replace(difference, name=f"{entry}: {difference.name}")
            for entry, report in reports.items()
            for difference in report.differences
        ],
        seconds=seconds,
        notes=programs.notes,
        entries=reports,
    )
