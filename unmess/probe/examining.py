"""Captures a model and tries its operators one by one. Runs in workers, since it may crash."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch
from torch._decomp import decomposition_table as torch_decompositions

from importers.captured_program import CapturedProgram
from importers.decompositions import decomposition_table
from importers.decompositions.tracing import trace, tracing
from unmess.captured import captured
from unmess.core.errors.error import Error
from unmess.core.errors.failure import as_error
from unmess.core.errors.quiet import quiet_libraries, show_pytorch_messages
from unmess.core.processes.current_stage import listening
from unmess.core.program.program import Program
from unmess.probe.answers import answer_path, read_answer, write_answer
from unmess.probe.calls import Call, alone, distinct_calls
from unmess.probe.lowering import lowers
from unmess.probe.operators import Finding

# Packages that answers depend on.
_PACKAGES = ("torch", "torch-mlir")
# Exceptions of PyTorch's decompositions for unsupported arguments.
_REFUSALS = (
    AssertionError,
    IndexError,
    RuntimeError,
    TypeError,
    ValueError,
    ZeroDivisionError,
)


def examine(
    send: Callable[[tuple], None],
    capture: dict[str, Any],
    to: str,
    known: dict[int, dict[str, Any]],
    verbose: bool,
) -> None:
    """Tries a model's operators. Sends stages, calls, answers and findings.

    `unmess.probe.operators.examine` receives them.

    Args:
        known: answers by index, from workers that ended before this one.
        verbose: let libraries print warnings and logs.
    """
    if verbose:
        show_pytorch_messages()
    else:
        quiet_libraries()
    stage = "source"

    def begin(name: str) -> None:
        nonlocal stage
        stage = name
        send(("stage", name))

    try:
        with listening(begin):
            program = captured(**capture)
        calls = distinct_calls(
            _exported(entry, capture["model"], to) for entry in program.entries.values()
        )
    except (Exception, SystemExit) as problem:
        send(("error", as_error(problem, stage), traceback.format_exc()))
        return
    paths = [answer_path([to], _PACKAGES, call.node) for call in calls]
    answers = [known.get(index) or read_answer(path) for index, path in enumerate(paths)]
    missing = [index for index, answer in enumerate(answers) if answer is None]
    for number, index in enumerate(missing, len(known) + 1):
        call = calls[index]
        send(("call", index, call.operator, number, len(known) + len(missing)))
        answers[index] = _try(call, to)
        send(("answer", answers[index]))
        write_answer(paths[index], answers[index])
    findings = [
        Finding(call.operator, call.count, call.operands, call.results, call.where, **answer)
        for call, answer in zip(calls, answers, strict=True)
    ]
    notes = [str(note) for note in program.notes]
    send(("findings", sorted(findings, key=lambda finding: finding.ok), notes))


def _exported(program: Program, model: str, to: str) -> torch.export.ExportedProgram:
    if not isinstance(program, CapturedProgram):
        raise Error(
            "usage",
            f"{model} was not captured from PyTorch, so it has no ATen operators to list",
            hint=f"run `unmess import {model} --to {to}` to find the operator that does not lower",
        )
    return program.exported


def _try(call: Call, to: str) -> dict:
    outcome = lowers(alone(call.node), to, call.operator)
    decomposition = None if outcome.ok else _decomposition(call, to)
    return {**asdict(outcome), "decomposition": decomposition}


def _decomposition(call: Call, to: str) -> str | None:
    """Returns the name of PyTorch's decomposition if its result lowers, else None."""
    node = call.node
    function = torch_decompositions.get(node.target)
    if function is None:
        return None
    graph = alone(node)
    placeholders = [inner for inner in graph.nodes if inner.op == "placeholder"]
    (copy,) = [inner for inner in graph.nodes if inner.target is node.target]

    def decomposed(*values):
        given = dict(zip(placeholders, values, strict=True))
        args, kwargs = torch.fx.node.map_arg((copy.args, copy.kwargs), given.__getitem__)
        return function(*args, **kwargs)

    with tracing(node.graph, decomposition_table()) as table:
        try:
            traced = trace(decomposed, [inner.meta["val"] for inner in placeholders], table)
        except _REFUSALS:
            # Some decompositions are only for gradients or other devices.
            return None
    if not lowers(traced, to, call.operator).ok:
        return None
    return f"torch._decomp.decomposition_table[torch.ops.{call.operator}]"
