"""IR at a stage, with what is needed to run it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from unmess.core.failure import only_errors
from unmess.core.writing import Replacements, cannot_write

if TYPE_CHECKING:
    import torch
    from torch_mlir import ir

    from unmess.core.note import Note
    from unmess.core.program import Program
    from unmess.core.programs import Programs
    from unmess.core.signature import Signature

# Says of a function that no broadcast in it stretches a dynamic size.
STRICT_SIZES = "torch.assume_strict_symbolic_shapes"
WEIGHTS = ("external", "inline", "elide", "splat")
# Name of the entry function of a model that has one.
ENTRY = "main"

# Literals above this number of elements are shown by name or elided, not spelled out.
_LARGE = 16


@dataclass
class Module:
    """IR at a stage.

    Attributes:
        name: of the model, for messages and file names.
        stage: `raw`, `torch` or an exit; `after PASS` where lowering was stopped on the way.
        ir: the MLIR module. It is changed in place when it is lowered further.
        signature: how the entry function maps to the model's own call; where there are several
            entry points, of the first.
        weights: the tensors behind the arguments of kind `weight` and `state`, by name. Borrowed.
        weight_mode: `external` (weights are arguments), `inline` (literals that share the
            tensors' memory), `elide` (literals whose data is left out of the text) or `splat`
            (literals of one value, the tensor's first).
        entry: name of the entry function; where there are several, of the first.
        entries: the signature of each entry point by the name of its function.
        seconds: time spent, by step (`import`, `lower`, …).
        program: that it was made of, for an example call and eager's result.
    """

    name: str
    stage: str
    ir: ir.Module
    signature: Signature
    weights: dict[str, torch.Tensor]
    weight_mode: str = "external"
    entry: str = ENTRY
    entries: dict[str, Signature] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    program: Program | Programs | None = None

    def __post_init__(self) -> None:
        if not self.entries:
            self.entries = {self.entry: self.signature}

    def digest(self) -> str:
        """SHA-256 of the IR as bytecode, with its source locations."""
        digest = hashlib.sha256()
        self.ir.operation.write_bytecode(_Digested(digest))
        return digest.hexdigest()

    @only_errors()
    def text(self, *, locations: bool = False, generic: bool = False) -> str:
        """The IR as text. Argument names are the model's; `inline` weights are printed as hex."""
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
        """Writes the IR, and beside it what it needs to run again: see `unmess.core.exported`.

        With `external` weights, they are in `PATH.safetensors`, by their names in the state dict.
        `PATH.json` says which argument is which of them, and how the model's call maps to it.
        `PATH.example.safetensors` has the example call and eager's result, which is computed here.
        IR of `elide` cannot run, and stands alone.

        Args:
            locations: keep source locations and layers.
            generic: the generic form of operations, which any version of MLIR reads.
            bytecode: in place of text; by default where the name ends in `.mlirbc`.
            alone: write nothing beside the IR.

        Returns:
            The files that were written.

        Raises:
            Error: stage `usage`, where a file cannot be written, or something in the call has no
                form without PyTorch.
        """
        path = Path(path)
        bytecode = path.suffix == ".mlirbc" if bytecode is None else bytecode
        try:
            # All files together: an IR file is of no use with the weights of another export.
            with Replacements() as files:
                if bytecode:
                    with files.beside(path).open("wb") as file:
                        self._of_bytecode(locations).write_bytecode(file)
                else:
                    files.beside(path).write_text(self._whole_text(locations, generic), "utf-8")
                if alone or self.weight_mode == "elide":
                    return [path]
                # It imports the libraries that files are written with.
                from unmess.core.exported.writing import write_beside

                return [path, *write_beside(path, self, files)]
        except OSError as problem:
            raise cannot_write(path, problem) from problem

    def _whole_text(self, locations: bool, generic: bool) -> str:
        """The IR with all its literals, unless they are elided on purpose."""
        if self.weight_mode == "elide":
            return self.text(locations=locations, generic=generic)
        return self.ir.operation.get_asm(
            enable_debug_info=locations,
            print_generic_op_form=generic,
            use_name_loc_as_prefix=True,
        )

    def _of_bytecode(self, locations: bool) -> ir.OpView:
        if locations:
            return self.ir.operation
        from torch_mlir.passmanager import PassManager

        stripped = self.ir.operation.clone()
        with self.ir.context:
            PassManager.parse("builtin.module(strip-debuginfo)").run(stripped)
        return stripped


class _Digested:
    """A file that is not kept."""

    def __init__(self, digest) -> None:
        self.write = digest.update
