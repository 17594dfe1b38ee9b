"""Describes the arguments of a program, and eager PyTorch's results for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

import unmess
from importers.sources.random_weights import seeded
from unmess.core.errors.error import Error
from unmess.core.processes.current_stage import enter_stage
from unmess.core.program.eager import Float64Reference, copied, eager_of
from unmess.core.program.program import Program
from unmess.core.signature.signature import Argument, ScalarSpec, TensorSpec
from unmess.corpus import tensors
from unmess.corpus.describing import as_numpy, as_torch, describe, dtype_name, made

# The dtypes of Python numbers in the IR.
_NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64}
# Integer inputs with these names are tokens: any of them is valid. Others, such as masks and
# positions, have a structure.
_TOKENS = "input_ids"


def described_call(
    program: Program, model: str, seed: int, weights: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Returns the descriptions of the arguments and of eager's results.

    Inputs are made from the seed. If eager refuses them, because they have a structure, the
    description has the elements of the recipe's own inputs.

    Returns:
        `arguments`: of the entry function, in order. `expected`: the leaves of the model's result,
        and the state after the call. `expected_failure`: why there is none, or None. `entry`: the
        name of the entry function.
    """
    fixed = [
        _argument(program, model, seed, weights, each)
        for each in program.signature.arguments
        if each.kind != "input"
    ]
    failure = None
    for exact in (False, True):
        inputs = [
            _argument(program, model, seed, weights, each, exact=exact)
            for each in program.signature.arguments
            if each.kind == "input"
        ]
        try:
            expected = list(_expected(program, inputs))
            failure = None
            break
        except Error as error:
            expected, failure = [], error.cause
    unknown = [each["name"] for each in fixed + inputs if each["made"]["kind"] == "unknown"]
    if unknown:
        expected, failure = [], f"{unknown[0]} is not made from a seed, and too large to record"
    described = {(each["kind"], each["name"]): each for each in fixed + inputs}
    ordered = [described[each.kind, each.name] for each in _entry_arguments(program)]
    return {
        "arguments": ordered,
        "expected": expected,
        "expected_failure": failure,
        "entry": program.entry,
    }


def _entry_arguments(program: Program) -> Sequence[Argument]:
    """Returns the arguments of the entry function: small constants of a graph are in the IR."""
    try:
        return unmess.lower(program, to="torch").signature.arguments
    except Error:
        # No stage has IR, and each reports the failure.
        return program.signature.arguments


def _argument(
    program: Program,
    model: str,
    seed: int,
    weights: dict[str, dict[str, Any]],
    argument: Argument,
    *,
    exact: bool = True,
) -> dict[str, Any]:
    """Returns the description of one argument.

    Args:
        exact: whether to keep the elements of the recipe's own input.
    """
    name = argument.name
    if argument.kind == "input":
        value = _values(program)[name]
        if isinstance(argument.spec, ScalarSpec):
            value, exact = torch.tensor(value, dtype=_NUMBERS[argument.spec.type]), True
        elif not value.is_floating_point() and not name.endswith(_TOKENS):
            exact = True
        found = describe(value, model, name, seed, exact=exact)
    else:
        value = program.weights[name]
        found = weights.get(name)
        # The capture may have changed a buffer, or given another tensor the same name.
        if found is None or not _same(made(found), as_numpy(value)):
            found = describe(value, model, name, seed, exact=True)
    shape = argument.spec.shape if isinstance(argument.spec, TensorSpec) else ()
    sizes = [str(getattr(size, "expression", size)) for size in shape]
    return {"kind": argument.kind, "name": name, "sizes": sizes, **found}


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _values(program: Program) -> dict[str, Any]:
    """Returns the leaves of the example call by the names of the inputs."""
    leaves = pytree.tree_leaves((program.args, program.kwargs))
    names = [leaf.name for leaf in program.signature.inputs]
    return dict(zip(names, leaves, strict=True))


def _expected(program: Program, inputs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields the results of eager PyTorch for inputs made as described."""
    enter_stage("run")
    values = _values(program)
    for each in inputs:
        if isinstance(values[each["name"]], torch.Tensor) and each["made"]["kind"] != "unknown":
            values[each["name"]] = as_torch(made(each), values[each["name"]].dtype)
    spec = pytree.tree_structure((program.args, program.kwargs))
    args, kwargs = pytree.tree_unflatten(list(values.values()), spec)
    eager = eager_of(program)
    exact = Float64Reference(eager.model, args, kwargs)
    with seeded():
        # Before the call, which may change the model's state.
        exact.result(0)
        leaves = pytree.tree_leaves(eager(*copied(args), **copied(kwargs)))
    # Results of a fixed size have padding, which the model's own result does not have.
    same = program.signature.restore is None and len(leaves) == len(program.signature.outputs)
    places = program.signature.outputs if same else [None] * len(leaves)
    for index, (leaf, place) in enumerate(zip(leaves, places, strict=True)):
        if leaf is not None and not isinstance(leaf, str):
            result = _result("output", "", place if isinstance(place, int) else None, leaf)
            yield {**result, "rounding": _rounding(leaf, exact.result(index))}
    if not isinstance(eager.model, torch.nn.Module):
        return
    after = {**dict(eager.model.named_parameters()), **dict(eager.model.named_buffers())}
    for place, result in enumerate(program.signature.results):
        if result.kind == "state" and result.name in after:
            state = _result("state", result.name, place, after[result.name])
            yield {**state, "rounding": None}


def _rounding(value: Any, exact: torch.Tensor | None) -> float | None:
    """Returns the largest difference of a result from one in float64; None if that is unknown."""
    if exact is None or not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return None
    if value.shape != exact.shape:
        return None
    difference = (value.double() - exact).abs()
    difference = difference[difference.isfinite()]
    return float(difference.max()) if difference.numel() else 0.0


def _result(kind: str, name: str, place: int | None, value: Any) -> dict[str, Any]:
    """Returns the description of a result. `place` is its index among the IR's results."""
    if not isinstance(value, torch.Tensor):
        value = torch.tensor(value, dtype=_NUMBERS.get(type(value)))
    dtype = dtype_name(value.dtype)
    return {
        "kind": kind,
        "name": name,
        "result": place,
        "shape": list(value.shape),
        "dtype": dtype,
        **tensors.statistics(as_numpy(value), dtype),
    }
