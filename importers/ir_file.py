"""Programs whose IR is in a file, so that nothing is captured."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmess.core.errors.error import Error
from unmess.core.module.module import Module
from unmess.core.options.names import check_weight_mode
from unmess.core.program.note import Note
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs
from unmess.core.program.recorded import Recorded
from unmess.core.signature.torch_signature import TorchSignature

if TYPE_CHECKING:
    import torch
    from torch_mlir import ir


@dataclass
class IrFile:
    """An MLIR file and its metadata.

    Attributes:
        path: the path of the file, which is read again for each Module.
        name: the name of the model.
        stage: the stage of the IR.
        weight_mode: the weight mode, as in a Module.
        weights: the tensors for arguments of kind `weight` and `state`, by name.
        tied: other names of tensors.
        entries: signatures by entry function.
        recorded: eager's result by entry function.
        notes: differences from the model that the IR was created from.
        trust: whether the IR may contain any operation.
        digest: the digest of the IR that the file was written with, if known.
    """

    path: Path
    name: str
    stage: str
    weight_mode: str
    weights: dict[str, torch.Tensor]
    entries: dict[str, TorchSignature]
    recorded: dict[str, Recorded]
    tied: dict[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    trust: bool = False
    digest: str | None = None


class FileModule(Module):
    """A Module that reads its IR from the file only when it is needed.

    A program whose compiled code is in the cache runs without its IR.
    """

    _parsed: ir.Module | None = None
    _file: IrFile | None = None

    @classmethod
    def of(cls, file: IrFile, program: Program | Programs | None) -> FileModule:
        """Creates the module of a file."""
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
        """The MLIR module.

        Raises:
            Error: stage `source`, if the IR needs trust.
        """
        if self._parsed is None:
            # Imported here because it loads the dialects of all stages.
            from importers.ir_safety import check_operations
            from unmess.core.ir.parsing import parse_file

            parsed = parse_file(self._file.path)
            # Check again, because the file may have changed since the first check.
            if not self._file.trust:
                check_operations(parsed, str(self._file.path))
            self._parsed = parsed
        return self._parsed

    @ir.setter
    def ir(self, module: ir.Module | None) -> None:
        self._parsed = module

    def digest(self) -> str:
        """Returns the SHA-256 of the IR as bytecode; the recorded one if known.

        Bytecode may change when it is read and written again.
        """
        file = self._file
        if file is None or file.digest is None or self.stage != file.stage:
            return super().digest()
        return file.digest


@dataclass
class IrEntry:
    """An entry function of a file, used as a model."""

    file: IrFile
    name: str


@dataclass(kw_only=True)
class IrProgram(Program):
    """A Program whose IR is given.

    Attributes:
        file: the file that contains the IR.
        captured_by: the capture strategies, or `ir` if they are not known.
    """

    file: IrFile
    captured_by: str = "ir"

    @property
    def strategy(self) -> str:
        """The capture strategies that produced the IR; `ir` if they are not known."""
        return self.captured_by

    @staticmethod
    def import_programs(program: IrProgram | Programs, weights: str) -> Module:
        """Returns the Module of the program's file. See `Program.import_programs`.

        Args:
            weights: `external`, which accepts any weight mode of the file, or that mode.

        Raises:
            Error: stage `usage`, if the weight mode of the file differs.
        """
        check_weight_mode(weights)
        start = time.perf_counter()
        file = next(iter(program.entries.values())).file
        if weights not in ("external", file.weight_mode):
            raise Error(
                "usage",
                f"the weights of {file.path} are {file.weight_mode}, which cannot be changed after "
                "the file is written",
                hint=f"pass --weights {weights} to the `unmess import` that writes it",
            )
        return module_of(file, program, start)


def ir_program(
    entry: IrEntry,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    name: str | None,
) -> IrProgram:
    """Creates the Program of an entry function and an example call.

    Raises:
        Error: stage `usage` for dynamic shapes, `run` for a call that does not fit.
    """
    file = entry.file
    if dynamic_shapes:
        raise Error(
            "usage",
            "dynamic dimensions are given for an IR file, which declares its own",
            hint="pass --dynamic to the `unmess import` that writes the file",
        )
    signature = file.entries[entry.name]
    signature.flatten_call(args, kwargs)
    bound = {argument.name for argument in signature.arguments if argument.kind != "input"}
    return IrProgram(
        name=name or file.name,
        signature=signature,
        weights={name: tensor for name, tensor in file.weights.items() if name in bound},
        tied=file.tied,
        eager=file.recorded[entry.name],
        args=args,
        kwargs=kwargs,
        notes=file.notes,
        file=file,
        entry=entry.name,
    )


def module_of(
    file: IrFile, program: IrProgram | Programs | None = None, start: float | None = None
) -> Module:
    """Creates the module of a file, at the stage of its IR.

    Args:
        program: the program of the module, if any.
        start: the start time for `seconds`, as `time.perf_counter` returns it.
    """
    start = time.perf_counter() if start is None else start
    module = FileModule.of(file, program)
    module.seconds = {} if program is None else dict(program.seconds)
    module.seconds["import"] = time.perf_counter() - start
    return module
