"""Programs that were captured from PyTorch."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from unmess.core.module.module import Module
from unmess.core.options.names import check_weight_mode
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs


@dataclass(kw_only=True)
class CapturedProgram(Program):
    """A Program with the graph that `torch.export` or another strategy captured.

    Attributes:
        exported: functional and decomposed, ready to be imported.
        undecomposed: the graph before, with the model's own operators; None if PyTorch did not
            capture it.
    """

    exported: torch.export.ExportedProgram
    undecomposed: torch.export.ExportedProgram | None = None

    @staticmethod
    def import_programs(program: CapturedProgram | Programs, weights: str) -> Module:
        """Imports into the torch dialect, at stage `raw`. See `Program.import_programs`."""
        check_weight_mode(weights)
        # Imported here, because it imports torch-mlir, which a capture does not need.
        from importers.torch_dialect import import_exported

        exported = {entry: each.exported for entry, each in program.entries.items()}
        return import_exported(program, exported, weights)


class OnnxProgram(CapturedProgram):
    """A program that was captured from an ONNX model; `eager` is the `OnnxModel`."""

    @property
    def comparison_notes(self) -> tuple[str, ...]:
        """See `OnnxModel.comparison_notes`."""
        return self.eager.comparison_notes


def is_captured(program: Program | Programs) -> bool:
    """Returns whether a program, or each of several, is a CapturedProgram."""
    return all(isinstance(each, CapturedProgram) for each in program.entries.values())
