"""IR at a stage, with the signature and the weights that it needs to run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from unmess.core.errors.failure import only_errors
from unmess.core.files.writing import Replacements, writing_to
from unmess.core.module.bytecode_digest import BytecodeDigest
from unmess.core.signature.entry_points import ENTRY

if TYPE_CHECKING:
    import torch
    from torch_mlir import ir

    from unmess.core.program.note import Note
    from unmess.core.program.program import Program
    from unmess.core.program.programs import Programs
    from unmess.core.signature.torch_signature import TorchSignature

# Function attribute: no broadcast in the function expands a dynamic size.
STRICT_SIZES = "torch.assume_strict_symbolic_shapes"

# Literals with more elements than this are printed by name or elided.
_LARGE = 16


@dataclass
class Module:
    """IR at a stage.

    Attributes:
        name: name of the model, for messages and file names.
        stage: `raw`, `torch` or an output dialect; `after PASS` if lowering was stopped on the way.
        ir: the MLIR module. Further lowering changes it in place.
        signature: how the entry function maps to the model's own call. With several entry points,
            the signature of the first.
        weights: the tensors behind the arguments of kind `weight` and `state`, by name. Borrowed.
        weight_mode: `external` (weights are arguments), `inline` (literals that share the
            tensors' memory), `elide` (literals whose data is left out of the text) or `splat`
            (literals of one value, the tensor's first).
        entry: name of the entry function. With several, of the first.
        entries: the signature of each entry point by the name of its function.
        seconds: time spent, by step (`import`, `lower`, …).
        program: the captured program, for an example call and eager's result.
        portable: the version of StableHLO for which `save` writes a portable artifact; None to
            write MLIR.
    """

    name: str
    stage: str
    ir: ir.Module
    signature: TorchSignature
    weights: dict[str, torch.Tensor]
    weight_mode: str = "external"
    entry: str = ENTRY
    entries: dict[str, TorchSignature] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    program: Program | Programs | None = None
    portable: str | None = None

    def __post_init__(self) -> None:
        if not self.entries:
            self.entries = {self.entry: self.signature}

    def digest(self) -> str:
        """Returns a SHA-256 of the IR with its source locations, equal in all checkouts."""
        digest = BytecodeDigest()
        self.ir.operation.write_bytecode(digest)
        return digest.hexdigest()

    @only_errors()
    def text(self, *, locations: bool = False, generic: bool = False) -> str:
        """Returns the IR as text. Arguments have the model's names. `inline` weights are hex."""
        elide = self.weight_mode != "inline"
        return self.ir.operation.get_asm(
            enable_debug_info=locations,
            pretty_debug_info=False,
            print_generic_op_form=generic,
            use_name_loc_as_prefix=True,
            large_elements_limit=_LARGE if elide else None,
            large_resource_limit=_LARGE if elide else None,
        )

    def __str__(self) -> str:
        return self.text()

    @only_errors()
    def save(
        self,
        path: str | Path,
        *,
        locations: bool = True,
        generic: bool = False,
        bytecode: bool | None = None,
        alone: bool = False,
    ) -> list[Path]:
        """Writes the IR and the files that it needs to run again. See `unmess.core.module`.

        `external` weights are in `PATH.safetensors`, by their names in the state dict. `PATH.json`
        maps arguments to weights, and the model's call to arguments. `PATH.example.safetensors` has
        the example call and eager's result, which is computed here. IR with `elide` weights cannot
        run, so only the IR is written.

        Args:
            locations: keep source locations and layers.
            generic: print the generic form of operations. A reader needs no custom syntax, but the
                same operations and attributes: other versions of MLIR may refuse the file.
            bytecode: write bytecode instead of text; by default if the name ends in `.mlirbc`.
            alone: write only the IR.

        Returns:
            The paths of the files that were written.

        Raises:
            Error: stage `usage`; a file cannot be written, or something in the call has no form
                without PyTorch.
        """
        path = Path(path)
        bytecode = path.suffix == ".mlirbc" if bytecode is None else bytecode
        # Replace all files together: an IR file must not meet the weights of another export.
        with writing_to(path), Replacements() as files:
            if self.portable is not None:
                files.beside(path).write_bytes(self._artifact(locations))
            elif bytecode:
                with files.beside(path).open("wb") as file:
                    self._of_bytecode(locations).write_bytecode(file)
            else:
                files.beside(path).write_text(self._whole_text(locations, generic), "utf-8")
            if alone or self.weight_mode == "elide":
                return [path]
            return [path, *self._write_beside(path, files)]

    def _write_beside(self, path: Path, files: Replacements) -> list[Path]:
        """Writes the files that an IR file needs to run again; returns their paths."""
        # Imported here to save start-up time: these modules import PyTorch.
        from unmess.core.module.writing import write_beside

        paths, missing = write_beside(
            path,
            files,
            name=self.name,
            stage=self.stage,
            entries=self.entries,
            weights=self.weights,
            weight_mode=self.weight_mode,
            programs={} if self.program is None else self.program.entries,
            tied={} if self.program is None else self.program.tied,
            notes=self.notes,
        )
        # The caller prints the notes of the module after it was written.
        self.notes += missing
        return paths

    def _whole_text(self, locations: bool, generic: bool) -> str:
        """Returns the IR with all its literals, unless the weights are elided."""
        if self.weight_mode == "elide":
            return self.text(locations=locations, generic=generic)
        return self.ir.operation.get_asm(
            enable_debug_info=locations,
            print_generic_op_form=generic,
            use_name_loc_as_prefix=True,
        )

    def _artifact(self, locations: bool) -> bytes:
        # Imported here to save start-up time: it imports torch_mlir.
        from torch_mlir import ir

        from unmess.core.ir.portable_artifact import artifact

        module = self.ir
        if not locations:
            with self.ir.context:
                module = ir.Module.parse(self.ir.operation.get_asm())
        return artifact(module, self.portable)

    def _of_bytecode(self, locations: bool) -> ir.OpView:
        if locations:
            return self.ir.operation
        from torch_mlir.passmanager import PassManager

        stripped = self.ir.operation.clone()
        with self.ir.context:
            PassManager.parse("builtin.module(strip-debuginfo)").run(stripped)
        return stripped
