"""Records the example call of a program and eager's result, as named tensors and numbers."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.errors.error import Error
from unmess.core.program.eager import Float64Reference, copied, guarded
from unmess.core.program.program import Program
from unmess.core.program.recorded import Recorded
from unmess.core.program.strides import restrided
from unmess.core.signature.signature import Constant, Input, TensorSpec
from unmess.core.signature.torch_signature import TorchSignature, unflatten_function

# Models with more bytes of weights are not run in float64 as well, which takes three times the
# memory.
_MOST_BYTES = 256 << 20


def record(
    programs: Mapping[str, Program], *, results: bool
) -> tuple[dict[str, torch.Tensor], dict[str, dict[str, Any] | None], dict[str, str]]:
    """Runs the programs in eager, one after the other, each on its example arguments.

    Args:
        results: record eager's results too; otherwise record the arguments and run nothing.

    Returns:
        Three dicts. The tensors, by `ENTRY.input.NAME`, `ENTRY.result.INDEX`, `ENTRY.exact.INDEX`
        and `ENTRY.state.NAME`. By entry point, the values that are numbers; None if it has no
        example. By entry point, why requested results are missing: eager fails, or its result has
        another form than the signature.
    """
    eager = {entry: program.eager for entry, program in programs.items()}
    if results and any(program.signature.of_kind("state") for program in programs.values()):
        # Copy them together, so that shared tensors stay shared.
        eager = copy.deepcopy(eager)
    tensors: dict[str, torch.Tensor] = {}
    numbers: dict[str, dict[str, Any] | None] = {}
    failures: dict[str, str] = {}
    for entry, program in programs.items():
        found = _inputs(program)
        if found is not None and results:
            try:
                found |= _results(program, eager[entry])
            except Error as failure:
                failures[entry] = failure.cause
        numbers[entry] = None if found is None else {}
        for name, value in (found or {}).items():
            if isinstance(value, torch.Tensor):
                tensors[f"{entry}.{name}"] = value
            else:
                numbers[entry][name] = value
    return tensors, numbers, failures


def _inputs(program: Program) -> dict[str, Any] | None:
    if isinstance(program.eager, Recorded) and program.eager.call is None:
        return None
    values = program.signature.flatten_call(program.args, program.kwargs)
    return {f"input.{name}": value for name, value in copied(values).items()}


def _results(program: Program, eager: Any) -> dict[str, Any]:
    """Returns eager's results, in float64 too, and the state after the call.

    Raises:
        Error: stage `run`; eager fails, or its result has another form than the signature.
    """
    signature, found = program.signature, {}
    if signature.restore is not None:
        return {}
    if sum(tensor.nbytes for tensor in program.weights.values()) <= _MOST_BYTES:
        # Do this before the model runs, which may change its state.
        exact = Float64Reference(eager, *copied((program.args, program.kwargs)))
        found = {f"exact.{index}": exact.result(index) for index in range(len(signature.outputs))}
        found = {name: leaf for name, leaf in found.items() if leaf is not None}
    args, kwargs = copied((program.args, program.kwargs))
    leaves = pytree.tree_leaves(guarded(eager)(*args, **kwargs))
    if len(leaves) != len(signature.outputs):
        raise Error(
            "run",
            f"eager returns {len(leaves)} values, the program {len(signature.outputs)}",
        )
    found |= {f"result.{index}": leaf for index, leaf in enumerate(leaves)}
    return found | {f"state.{name}": value for name, value in _state(program, eager).items()}


def _state(program: Program, eager: Any) -> dict[str, torch.Tensor]:
    if isinstance(eager, Recorded):
        return eager.state
    if not isinstance(eager, torch.nn.Module):
        return {}
    names = {argument.name for argument in program.signature.of_kind("state")}
    buffers = eager.named_buffers(remove_duplicate=False)
    by_name = {program.tied.get(name, name): buffer for name, buffer in buffers}
    return {name: buffer.clone() for name, buffer in by_name.items() if name in names}


def recorded(
    signature: TorchSignature,
    entry: str,
    file: str,
    tensors: Mapping[str, torch.Tensor],
    numbers: Mapping[str, Any] | None,
) -> Recorded:
    """Returns the Recorded of an entry point from tensors and numbers that `record` returned."""
    if numbers is None:
        return Recorded(file)
    values = {
        name.removeprefix(f"{entry}."): value
        for name, value in tensors.items()
        if name.startswith(f"{entry}.")
    } | dict(numbers)
    inputs = [
        leaf.spec.value if isinstance(leaf.spec, Constant) else _input(leaf, values)
        for leaf in signature.inputs
    ]
    call = pytree.tree_unflatten(inputs, signature.in_spec)
    count = range(len(signature.outputs))
    if not all(f"result.{index}" in values for index in count):
        return Recorded(file, call)
    exact = [values.get(f"exact.{index}") for index in count]
    return Recorded(
        file,
        call,
        has_result=True,
        result=unflatten_function(signature.out_spec)(values[f"result.{index}"] for index in count),
        exact=exact if any(leaf is not None for leaf in exact) else None,
        state=dict(_with_prefix(values.items(), "state.")),
    )


def _input(leaf: Input, values: Mapping[str, Any]) -> Any:
    value = values[f"input.{leaf.name}"]
    # Files have row-major tensors only.
    return restrided(value, leaf.spec.strides) if isinstance(leaf.spec, TensorSpec) else value


def _with_prefix(items: Iterable[tuple[str, Any]], prefix: str) -> Iterable[tuple[str, Any]]:
    return ((name[len(prefix) :], value) for name, value in items if name.startswith(prefix))
