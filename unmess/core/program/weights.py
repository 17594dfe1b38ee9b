"""Checks the tensors behind a program's weights and state, and gives them the layout to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch

from unmess.core.errors.error import Error
from unmess.core.program.note import Note
from unmess.core.program.program import Program
from unmess.core.signature.signature import Signature, TensorSpec
from unmess.core.signature.torch_signature import memory_misfit, tensor_misfit

_HINT = "capture the model again, or load the program before you change the model"


def row_major(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the tensor itself if its memory has the layout that compiled code reads.

    Otherwise returns a copy: in row-major order, conjugated or negated if a lazy bit of the tensor
    is set, and with 1 for every byte of a bool tensor that is not 0.
    """
    if _is_plain(tensor):
        # Most tensors: the steps below take several microseconds for each operand of a call.
        return tensor
    dense = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if dense.dtype == torch.bool and dense.numel():
        # PyTorch reads such bytes as true or false, depending on the operator. Compiled code
        # reads only the lowest bit.
        content = dense.view(torch.uint8)
        if content.max().item() > 1:
            return content.ne(0)
    return dense


def _is_plain(tensor: torch.Tensor) -> bool:
    return (
        type(tensor) is torch.Tensor
        and tensor.dtype is not torch.bool
        and not tensor.requires_grad
        and tensor.is_contiguous()
        and not tensor.is_conj()
        and not tensor.is_neg()
    )


def check_weights(
    entries: Mapping[str, Signature], tensors: Mapping[str, torch.Tensor], stage: str
) -> None:
    """Compares the tensors behind arguments of kind `weight` and `state` with their signature.

    Args:
        entries: the signatures of the entry points.
        tensors: the tensors, by their names in the signatures.

    Raises:
        Error: `stage`; a tensor is missing, has another shape or dtype, or has no elements in CPU
            memory.
    """
    for signature in entries.values():
        for argument in signature.arguments:
            if argument.kind != "input":
                _check(argument.kind, argument.name, argument.spec, tensors, stage)


def check_unchanged(entries: Mapping[str, Signature], tensors: Mapping[str, torch.Tensor]) -> None:
    """Compares shapes and dtypes only, because IR needs no elements. See `check_weights`.

    Raises:
        Error: stage `import`.
    """
    for signature in entries.values():
        for argument in signature.arguments:
            if argument.kind != "input":
                tensor = tensors[argument.name]
                found = TensorSpec(tuple(tensor.shape), tensor.dtype)
                if found != argument.spec:
                    raise _changed(argument.kind, argument.name, found, argument.spec, "import")


def _check(
    kind: str, name: str, spec: TensorSpec, tensors: Mapping[str, torch.Tensor], stage: str
) -> None:
    if name not in tensors:
        raise Error(
            stage,
            f"{kind} {name} ({spec}) is missing",
            hint="the weights file belongs to another model: export it again",
        )
    value = tensors[name]
    if problem := memory_misfit(f"{kind} {name}", value):
        hint = _HINT if value.device.type == "cpu" else "move the model to the CPU first"
        raise Error(stage, f"{problem} ({spec})", hint=hint)
    found = TensorSpec(tuple(value.shape), value.dtype)
    if tensor_misfit(name, spec, value):
        raise _changed(kind, name, found, spec, stage)


def _changed(kind: str, name: str, found: TensorSpec, spec: TensorSpec, stage: str) -> Error:
    return Error(stage, f"{kind} {name} is {found}, but was captured as {spec}", hint=_HINT)


def memory_key(tensor: torch.Tensor) -> tuple:
    """Returns a key that is equal for tensors with the same elements in the same memory."""
    if tensor.layout != torch.strided:
        return (id(tensor),)
    return (
        tensor.data_ptr() if tensor.numel() else id(tensor),
        tensor.dtype,
        tuple(tensor.shape),
        tensor.stride(),
    )


def replaced_weights(programs: Iterable[Program]) -> tuple[Note, ...]:
    """Returns a note if models have other tensors now than when they were captured.

    A program keeps the tensors of the capture. `load_state_dict(…, assign=True)` gives the model
    new ones, and so does assigning an `nn.Parameter`.
    """
    names = set()
    for program in programs:
        model = program.eager
        if isinstance(model, torch.nn.Module):
            current = dict(model.named_parameters(remove_duplicate=False))
            current |= dict(model.named_buffers(remove_duplicate=False))
            for name, tensor in current.items():
                captured = program.weights.get(program.tied.get(name, name))
                if captured is not None and memory_key(captured) != memory_key(tensor):
                    names.add(name)
    if not names:
        return ()
    which = min(names) + (f" and {len(names) - 1} more" if len(names) > 1 else "")
    return (
        Note(
            "weights",
            f"the model got new tensors after the capture, which the program does not use: {which}",
        ),
    )


def check_specialized(programs: Iterable[Program]) -> None:
    """Compares tensors that decided the control flow with their values at the capture.

    Raises:
        Error: stage `load`; the model might take another branch now.
    """
    for program in programs:
        for one in program.specialized:
            if not torch.equal(one.tensor.detach(), one.value):
                raise Error(
                    "load",
                    f"the capture fixed the control flow to {one.name} = "
                    f"{brief(one.value)}, but {one.name} is {brief(one.tensor)} now",
                    hint="capture the model again",
                )


def brief(tensor: torch.Tensor) -> str:
    """Returns the value of a tensor of one element, or the shape of a larger one."""
    if tensor.numel() == 1:
        return str(tensor.item())
    return f"a tensor of {'x'.join(map(str, tensor.shape))}"
