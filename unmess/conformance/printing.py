"""Writes a case as a folder that can be run without this project."""

from __future__ import annotations

import json
from pathlib import Path

from torch.utils import _pytree as pytree

import unmess
from pipelines.backends.backend import Backend, BackendInput
from pipelines.backends.commands.backend import CommandBackend
from pipelines.backends.commands.tensors import write_tensors
from pipelines.backends.finding import find_backend
from pipelines.backends.preparing import prepared
from unmess.conformance.levels import ConformanceCase
from unmess.core.errors.error import Error
from unmess.core.files.writing import writing_to
from unmess.core.module.module import Module
from unmess.core.program.eager import copied, eager_of
from unmess.core.program.program import Program

_README = """\
{name}

input.mlir       the program; its entry function is main
inputs/N.npy     its arguments in order{weights}
expected/N.npy   its results in order, computed by PyTorch

{command}
"""


def input_text(item: tuple[ConformanceCase, str]) -> str | None:
    """Returns the IR that a backend gets for a case; None if there is none. Called in a worker."""
    case, on = item
    try:
        _, module = _module(case, find_backend(on))
    except Exception:
        return None
    return module.text()


def print_case(case: ConformanceCase, on: str, folder: Path) -> None:
    """Writes `input.mlir`, the arguments and expected results as `.npy`, and the command.

    For a backend of commands, also the files that the commands read.

    Raises:
        Error: the stage that failed; `usage`, if the case is a model string of several programs, or
            a file cannot be written.
    """
    backend = find_backend(on)
    program, module = _module(case, backend)
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _write(case, program, module, backend, folder)


def _write(
    case: ConformanceCase, program: Program, module: Module, backend: Backend, folder: Path
) -> None:
    module.weight_mode = "inline"
    module.save(folder / "input.mlir", locations=False, alone=True)
    signature = module.signature
    values = signature.flatten_call(program.args, program.kwargs)
    # The commands of a description get external weights in a file of their own.
    is_commands = isinstance(backend, CommandBackend)
    has_file = is_commands and backend.input.weights == "external"
    arguments = [
        values[argument.name] if argument.kind == "input" else module.weights[argument.name]
        for argument in signature.arguments
        if argument.kind != "weight" or not has_file
    ]
    write_tensors(arguments, folder / "inputs", "npy")
    command = f"The backend {backend.name} is called in Python."
    if is_commands:
        command = backend.write_call(module, arguments, folder)
    result = eager_of(program)(*copied(program.args), **copied(program.kwargs))
    leaves = pytree.tree_leaves(result)
    expected = {
        str(place): leaf
        for place, leaf in zip(signature.outputs, leaves, strict=True)
        if isinstance(place, int)
    }
    write_tensors(expected, folder / "expected", "npy")
    weights = ", without the weights, which have files of their own" if has_file else ""
    text = _README.format(name=case.name, command=command, weights=weights)
    (folder / "README.txt").write_text(text, "utf-8")
    about = {"name": case.name, "backend": backend.name, "command": command}
    (folder / "case.json").write_text(json.dumps(about, indent=2) + "\n", "utf-8")


def _module(case: ConformanceCase, backend: Backend) -> tuple[Program, Module]:
    """Returns the program of a case, and the module that the backend gets."""
    if case.level == 1:
        model, args = case.content.module(), case.content.tensors()
        program = unmess.capture(model, args, dynamic_shapes=case.content.dynamic_shapes())
    elif case.level == 2:
        from unmess.conformance.programs.check import executed

        model, args = executed(case.content)
        program = unmess.capture(model, args)
    else:
        program = unmess.capture(case.content)
    if not isinstance(program, Program):
        raise Error(
            "usage", f"{case.name} has several programs", hint="`unmess import` writes their IR"
        )
    wanted = backend.input if backend.input.stage is not None else BackendInput()
    return program, prepared(program.to_module(), wanted)
