"""IR in a file as a Program: nothing is captured, the IR is there."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmess.core.error import Error
from unmess.core.module import Module
from unmess.core.note import Note
from unmess.core.program import Program
from unmess.core.programs import Programs
from unmess.core.recorded import Recorded
from unmess.core.signature import Signature

if TYPE_CHECKING:
    import torch
    from torch_mlir import ir


@dataclass
class IrFile:
    """An MLIR file and what is known of it.

    Attributes:
        path: of the file, which is read again for each Module that is made of it.
        name: of the model.
        stage: of the IR.
        weight_mode: as of a Module.
        weights: the tensors behind arguments of kind `weight` and `state`, by name.
        tied: further names of tensors.
        entries: signatures by entry function.
        recorded: eager's result by entry function.
        notes: what differs from the model that the IR was made of.
        trust: the IR may have any operation.
        digest: of the IR that the file was written with, where it is known.
    """

    path: Path
    name: str
    stage: str
    weight_mode: str
    weights: dict[str, torch.Tensor]
    entries: dict[str, Signature]
    recorded: dict[str, Recorded]
    tied: dict[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    trust: bool = False
    digest: str | None = None


class FileModule(Module):
    """A Module whose IR is read from its file when something needs it.

    A program whose compiled code is in the cache runs without its IR.
    """

    _parsed: ir.Module | None = None
    _file: IrFile | None = None

    @classmethod
    def of(cls, file: IrFile, program: Program | Programs | None) -> FileModule:
        """The module in a file."""
        module = cls(
            name=file.name,
            stage=file.stage,
            ir=None,
            signature=next(iter(file.entries.values())),
            weights=file.weights,
            weight_mode=file.weight_mode,
            entry=next(iter(file.entries)),
            entries=file.entries,
            notes=file.notes,
            program=program,
        )
        module._file = file
        return module

    @property
    def ir(self) -> ir.Module:
        """The MLIR module."""
        if self._parsed is None:
            # It imports the dialects of all stages.
            from importers.ir_safety import check_operations
            from unmess.core.parsing import parse_file

            parsed = parse_file(self._file.path)
            # The file is read again, and may be another one by now.
            if not self._file.trust:
                check_operations(parsed, str(self._file.path))
            self._parsed = parsed
        return self._parsed

    @ir.setter
    def ir(self, module: ir.Module | None) -> None:
        self._parsed = module

    def digest(self) -> str:
        """SHA-256 of the IR as bytecode: that which the file was written with, where it is known.

        Bytecode that is read and written again may differ from what it was.
        """
        file = self._file
        if file is None or file.digest is None or self.stage != file.stage:
            return super().digest()
        return file.digest


@dataclass
class IrEntry:
    """An entry function of a file, in the place of a model."""

    file: IrFile
    name: str


@dataclass
class IrProgram(Program):
    """A Program whose IR is given; `exported` is None.

    Attributes:
        file: that the IR is in.
        captured_by: the capture strategies, where they are known.
    """

    file: IrFile | None = None
    captured_by: str = "ir"

    @property
    def strategy(self) -> str:
        """The capture strategies that made the IR; `ir` where they are not known."""
        return self.captured_by


def ir_program(
    entry: IrEntry,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    name: str | None,
) -> IrProgram:
    """The Program of an entry function and an example call.

    Raises:
        Error: stage `usage`, for dynamic shapes; `run`, for a call that does not fit.
    """
    file = entry.file
    if dynamic_shapes:
        raise Error(
            "usage",
            "IR has its dynamic dimensions already",
            hint="give --dynamic to the `unmess import` that writes the file",
        )
    signature = file.entries[entry.name]
    signature.flatten_call(args, kwargs)
    bound = {argument.name for argument in signature.arguments if argument.kind != "input"}
    return IrProgram(
        name=name or file.name,
        exported=None,
        signature=signature,
        weights={name: tensor for name, tensor in file.weights.items() if name in bound},
        tied=file.tied,
        eager=file.recorded[entry.name],
        args=args,
        kwargs=kwargs,
        notes=file.notes,
        file=file,
    )


def import_ir(program: IrProgram | Programs, weights: str) -> Module:
    """The module in a program's file.

    Args:
        weights: `external`, which stands for what the file has, or just that.

    Raises:
        Error: stage `usage`, where the file has its weights in another way.
    """
    start = time.perf_counter()
    entries = program.entries if isinstance(program, Programs) else {None: program}
    file = next(iter(entries.values())).file
    if weights not in ("external", file.weight_mode):
        raise Error(
            "usage",
            f"the weights of {file.path} are {file.weight_mode}, which is decided when it is made",
            hint=f"give --weights {weights} to the `unmess import` that writes it",
        )
    return module_of(file, program, start)


def module_of(
    file: IrFile, program: IrProgram | Programs | None = None, start: float | None = None
) -> Module:
    """The module in a file, at the stage that it is at.

    Args:
        program: that it is to be of.
        start: when the work for it began.

    Raises:
        Error: stage `source`, where the IR needs trust.
    """
    start = time.perf_counter() if start is None else start
    module = FileModule.of(file, program)
    module.seconds = {} if program is None else dict(program.seconds)
    module.seconds["import"] = time.perf_counter() - start
    return module
