"""Replays one kernel: upstream MLIR runs it, NumPy computes it, and the results are compared."""

from __future__ import annotations

import hashlib

import numpy as np
from mlir import ir
from mlir.passmanager import PassManager

from unmess.corpus.replay import inputs
from unmess.corpus.replay.engine import CannotCompile, function_of, run
from unmess.corpus.replay.interpreter import Elements, Interpreter, NotEvaluated, constant
from unmess.corpus.replay.outcome import NOT_CHECKABLE, RIGHT, WRONG, Replay
from unmess.corpus.replay.scalars import Undefined
from unmess.corpus.tensors import widened

NAME = "kernel"
# Relative tolerances. Both sides compute in the same order, so only elementary functions differ.
_TOLERANCES = {"f2": 4e-3, "f4": 2e-5, "f8": 1e-12, "c8": 2e-5, "c16": 1e-12, "bf16": 3e-2}


def replay(kernel: tuple[str, str, int]) -> Replay:
    """Replays a kernel.

    Args:
        kernel: its SHA-256, its text, and a seed for the values of the arguments.
    """
    sha256, text, seed = kernel
    if hashlib.sha256(text.encode()).hexdigest() != sha256:
        return Replay(sha256, WRONG, "the text has another SHA-256")
    try:
        with ir.Context() as context, np.errstate(all="ignore"):
            context.emit_error_diagnostics = False
            try:
                ir.Module.parse(text)
            except ir.MLIRError as problem:
                cause = problem.error_diagnostics[0].message.splitlines()[0]
                return Replay(sha256, WRONG, f"upstream MLIR does not parse it: {cause}")
            return _replay(sha256, text, seed)
    except (NotEvaluated, CannotCompile, Undefined) as problem:
        return Replay(sha256, NOT_CHECKABLE, str(problem))


def _replay(sha256: str, text: str, seed: int) -> Replay:
    module = ir.Module.parse(text)
    PassManager.parse("builtin.module(func.func(linalg-generalize-named-ops))").run(
        module.operation
    )
    function = function_of(module, NAME)
    block = function.regions[0].blocks[0]
    found = [each.operation for each in block.operations if each.operation.name == "linalg.generic"]
    if len(found) != 1:
        names = {each.operation.name for each in block.operations}
        raise NotEvaluated(f"no generic form of {next(n for n in names if 'linalg' in n)}")
    (generic,) = found
    sizes = inputs.loop_sizes(generic)
    shapes = inputs.shapes(generic, sizes)
    captured = {
        value: inputs.captured_shape(value.type)
        for value in block.arguments
        if isinstance(value.type, ir.RankedTensorType) and value not in shapes
    }
    problem: Undefined | None = None
    for positive in (False, True):
        for span in inputs.integer_ranges(generic, list(captured.values())):
            arguments = [
                inputs.values(
                    value.type,
                    shapes.get(value, captured.get(value, [])),
                    f"{seed} {sha256} {number}",
                    span,
                    positive=positive,
                )
                for number, value in enumerate(block.arguments)
            ]
            known = dict(zip(block.arguments, arguments, strict=True))
            for each in block.operations:
                if each.operation.name == "arith.constant":
                    known[each.operation.results[0]] = constant(each.operation)
            try:
                expected = Interpreter(generic, sizes).run(known, seed)
            except Undefined as found_problem:
                problem = found_problem
                continue
            computed = run(ir.Module.parse(text), NAME, arguments)
            kinds = [str(result.type.element_type) for result in generic.results]
            return _compare(sha256, computed, expected, kinds)
    raise problem


def _compare(
    sha256: str, computed: list[np.ndarray], expected: list[Elements], kinds: list[str]
) -> Replay:
    compared = total = 0
    for number, (whole, own, kind) in enumerate(zip(computed, expected, kinds, strict=True)):
        there = whole[own.places] if own.places else whole
        total += whole.size
        compared += there.size
        if problem := difference(there, own.values, kind):
            return Replay(sha256, WRONG, f"result {number}: {problem}", compared, total)
    return Replay(sha256, RIGHT, None, compared, total)


def difference(computed: np.ndarray, expected: np.ndarray, kind: str) -> str | None:
    """Describes how two arrays differ; None if they agree within the tolerance of the type."""
    if computed.shape != expected.shape:
        return f"shape {computed.shape}, NumPy has {expected.shape}"
    if kind == "bf16":
        computed, expected = widened(computed), widened(expected)
    tolerance = _TOLERANCES.get("bf16" if kind == "bf16" else computed.dtype.str[1:], 0)
    if not tolerance:
        wrong = computed != expected
    else:
        finite = np.abs(expected[np.isfinite(expected)])
        scale = finite.max() if finite.size else 0
        wrong = ~np.isclose(
            computed, expected, rtol=tolerance, atol=tolerance * float(scale), equal_nan=True
        )
    if not wrong.any():
        return None
    place = np.flatnonzero(wrong)[0]
    return (
        f"{int(wrong.sum())} of {wrong.size} elements differ, first {computed.ravel()[place]}, "
        f"NumPy has {expected.ravel()[place]}"
    )
