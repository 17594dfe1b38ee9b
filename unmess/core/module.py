"""IR at a stage, with what is needed to run it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from unmess.core.error import Error

if TYPE_CHECKING:
    import torch
    from torch_mlir import ir

    from unmess.core.program import Note
    from unmess.core.signature import Signature

WEIGHTS = ("external", "inline", "elide")

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
            tensors' memory) or `elide` (literals whose data is left out of the text).
        entry: name of the entry function; where there are several, of the first.
        entries: the signature of each entry point by the name of its function.
        seconds: time spent, by step (`import`, `lower`, …).
    """

    name: str
    stage: str
    ir: ir.Module
    signature: Signature
    weights: dict[str, torch.Tensor]
    weight_mode: str = "external"
    entry: str = "main"
    entries: dict[str, Signature] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.entries:
            self.entries = {self.entry: self.signature}

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

    def save(self, path: str | Path, **options) -> None:
        """Writes `text(**options)`, or bytecode where the name ends in `.mlirbc`.

        Raises:
            Error: stage `usage`, where the file cannot be written.
        """
        path = Path(path)
        try:
            if path.suffix == ".mlirbc":
                with path.open("wb") as file:
                    self.ir.operation.write_bytecode(file)
            else:
                path.write_text(self.text(**options))
        except OSError as problem:
            raise Error(
                "usage",
                f"cannot write {path}: {problem.strerror}",
                hint="choose a folder that exists and that you may write to",
            ) from problem
