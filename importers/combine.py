"""Combines programs of one model, captured separately, into one set with shared weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from importers.captured_program import is_captured
from importers.ir_file import IrProgram
from unmess.core.errors.error import Error
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs
from unmess.core.program.weights import memory_key
from unmess.core.signature.torch_signature import TorchSignature


def combine(programs: Mapping[str, Program], name: str | None = None) -> Programs:
    """Makes each program an entry point of one module.

    Tensors are shared if they are the same elements of the same memory. They get their name in the
    first program. Different tensors with the same name stay separate: the later one gets the name
    of its entry point as a prefix.

    Args:
        programs: the programs by the name of the entry point, a Python identifier.
        name: the name of the model; by default that of the first program.

    Raises:
        Error: stage `usage`, if there is no program, a name is not an identifier, or a program is
            the IR of a file and not all programs are entry points of that file.
    """
    if not programs:
        raise Error(
            "usage",
            "there is no program to combine",
            hint="pass at least one program, by the name of its entry point",
        )
    for entry in programs:
        if not entry.isidentifier() or entry.startswith("_"):
            raise Error(
                "usage",
                f"{entry!r} is not a valid name of an entry point",
                hint="use a Python identifier without a leading underscore",
            )
    for entry, program in programs.items():
        if not is_captured(program) and not _are_of_one_file(programs):
            raise Error(
                "usage",
                f"{entry} is the IR of a file, which cannot be combined with other programs",
                hint="combine the captured programs before they are written to a file",
            )
    joint = _JointNames()
    renamings = {entry: joint.of(program, entry) for entry, program in programs.items()}
    written = {
        renamings[entry][argument.name]
        for entry, program in programs.items()
        for argument in program.signature.of_kind("state")
    }
    return Programs(
        name=name or next(iter(programs.values())).name,
        entries={
            entry: _renamed(program, renamings[entry], written)
            for entry, program in programs.items()
        },
    )


def _are_of_one_file(programs: Mapping[str, Program]) -> bool:
    """Returns whether all programs are the IR of one file, under their names in that file."""
    files = [
        program.file if isinstance(program, IrProgram) else None for program in programs.values()
    ]
    return all(file is not None and file is files[0] for file in files) and all(
        program.entry == name for name, program in programs.items()
    )


class _JointNames:
    """The names assigned so far, and the memory that they refer to."""

    def __init__(self) -> None:
        self._by_identity: dict[tuple, list[str]] = {}
        self._taken: set[str] = set()

    def of(self, program: Program, entry: str) -> dict[str, str]:
        """Maps a program's own names to joint ones."""
        renaming: dict[str, str] = {}
        for name, tensor in program.weights.items():
            known = self._by_identity.setdefault(memory_key(tensor), [])
            # State tensors of one program that share memory at the start stay separate.
            free = [other for other in known if other not in renaming.values()]
            if name in free:
                renaming[name] = name
            elif free:
                renaming[name] = free[0]
            else:
                renaming[name] = self._new(name, entry)
                known.append(renaming[name])
        return renaming

    def _new(self, name: str, entry: str) -> str:
        while name in self._taken:
            name = f"{entry}.{name}"
        self._taken.add(name)
        return name


def _renamed(program: Program, renaming: dict[str, str], written: Iterable[str]) -> Program:
    tied = {name: renaming.get(first, first) for name, first in program.tied.items()}
    tied |= {name: new for name, new in renaming.items() if name != new}
    return replace(
        program,
        signature=_with_joint_names(program.signature, renaming, written),
        weights={renaming[name]: tensor for name, tensor in program.weights.items()},
        tied=tied,
    )


def _with_joint_names(
    signature: TorchSignature, renaming: dict[str, str], written: Iterable[str]
) -> TorchSignature:
    arguments = []
    for argument in signature.arguments:
        if argument.kind != "input":
            name = renaming[argument.name]
            argument = replace(argument, name=name, kind="state" if name in written else "weight")
        arguments.append(argument)
    # The new value of a mutated input is also a result of kind `state`, with the input's own name.
    buffers = {argument.name for argument in signature.of_kind("state")}
    results = tuple(
        replace(result, name=renaming[result.name])
        if result.kind == "state" and result.name in buffers
        else result
        for result in signature.results
    )
    return replace(signature, arguments=tuple(arguments), results=results)
