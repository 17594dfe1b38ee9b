"""Which operators of a program lower to an exit, and which do not."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch._decomp import decomposition_table as torch_decompositions

from importers.decompositions import decomposition_table
from importers.decompositions.tracing import trace, tracing
from unmess.core.cache import cache_folder, make_private
from unmess.core.own_sources import digest_of
from unmess.probe.calls import Call, alone, distinct_calls, key_of
from unmess.probe.children import Died, each_in_children
from unmess.probe.lowering import Outcome, lowers

_TIMEOUT = 60.0
# Everything of ours that an answer depends on.
_SOURCES = digest_of("importers", "pipelines", "unmess/core", "unmess/probe")
# What PyTorch's decompositions raise for arguments that they do not take.
_REFUSALS = (
    AssertionError,
    IndexError,
    RuntimeError,
    TypeError,
    ValueError,
    ZeroDivisionError,
)


@dataclass(frozen=True)
class Finding:
    """An operator of a program, and whether it lowers.

    Attributes:
        operator: as PyTorch spells it, `aten.add.Tensor`.
        count: how many calls with these shapes, dtypes and constants there are.
        operands, results: tensors as `2x3xfloat32`; a dynamic size is `?`.
        where: the user's source lines.
        ok: it lowers.
        stage, cause, repro: where it stops, why in one line, and a file that shows it; None where
            it lowers.
        decomposition: a decomposition of PyTorch's own whose result lowers, or None.
    """

    operator: str
    count: int
    operands: list[str]
    results: list[str]
    where: list[str]
    ok: bool
    stage: str | None
    cause: str | None
    repro: str | None
    decomposition: str | None


def examine(
    programs: Iterable[torch.export.ExportedProgram],
    exit_: str,
    on_call: Callable[[str, int, int], None] = lambda _operator, _index, _total: None,
) -> list[Finding]:
    """Tries every distinct call of an operator in programs, each as a program of its own.

    Args:
        programs: captured, decomposed and repaired; several of a model with several entry points.
        exit_: a stage, `torch` or later.
        on_call: called with the operator, its number and how many there are.

    Returns:
        A finding for each, those that do not lower first.
    """
    calls = distinct_calls(programs)
    salt = _salt(exit_)
    paths = [cache_folder() / "ops" / f"{_named(salt, call.node)}.json" for call in calls]
    known = [_read(path) for path in paths]
    missing = [index for index, answer in enumerate(known) if answer is None]

    def work(call: Call) -> dict:
        return _try(call, exit_)

    answers = each_in_children([calls[index] for index in missing], work, _TIMEOUT)
    for number, (index, answer) in enumerate(zip(missing, answers, strict=True)):
        on_call(calls[index].operator, number + 1, len(missing))
        if isinstance(answer, Died):
            known[index] = {**asdict(Outcome(False, exit_, answer.cause)), "decomposition": None}
        else:
            known[index] = answer
            _write(paths[index], answer)
    findings = [
        Finding(call.operator, call.count, call.operands, call.results, call.where, **answer)
        for call, answer in zip(calls, known, strict=True)
    ]
    return sorted(findings, key=lambda finding: finding.ok)


def _try(call: Call, exit_: str) -> dict:
    outcome = lowers(alone(call.node), exit_, call.operator)
    decomposition = None if outcome.ok else _decomposition(call, exit_)
    return {**asdict(outcome), "decomposition": decomposition}


def _decomposition(call: Call, exit_: str) -> str | None:
    """PyTorch's own decomposition of the operator, where what comes of it lowers."""
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
            # Some are for gradients, or for other devices only.
            return None
    if not lowers(traced, exit_, call.operator).ok:
        return None
    return f"torch._decomp.decomposition_table[torch.ops.{call.operator}]"


def _salt(exit_: str) -> str:
    """What the answers depend on besides the call."""
    versions = [importlib.metadata.version(name) for name in ("torch", "torch-mlir")]
    return json.dumps([exit_, versions, _SOURCES])


def _named(salt: str, node: torch.fx.Node) -> str:
    return hashlib.sha256(f"{salt}{key_of(node)}".encode()).hexdigest()


def _read(path: Path) -> dict | None:
    """The answer in the cache; None where there is none, or its reproducer is gone."""
    try:
        answer = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    repro = answer.get("repro")
    return answer if repro is None or Path(repro).exists() else None


def _write(path: Path, answer: dict) -> None:
    """A cache that cannot be written costs time, nothing else."""
    try:
        make_private(path.parent)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            json.dump(answer, file)
        Path(file.name).replace(path)
    except OSError:
        return
