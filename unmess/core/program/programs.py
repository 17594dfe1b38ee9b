"""Several captured programs of one model: the entry points of one module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from unmess.core.program.note import Note
from unmess.core.program.program import Program


@dataclass
class Programs:
    """Programs by entry point, to be imported into one module and loaded together.

    Their weights have joint names: a tensor that several programs use has the same name in all of
    them, and each name means one tensor. A tensor that one program writes is state of every program
    that uses it.

    Attributes:
        name: name of the model, for messages and file names.
        entries: the programs by the name of their entry point, in order.
        source_notes: differences from the model that the user passed in, from before the capture.
    """

    name: str
    entries: dict[str, Program]
    source_notes: tuple[Note, ...] = ()

    def __getitem__(self, entry: str) -> Program:
        return self.entries[entry]

    def to_module(self, weights: str = "external") -> Any:
        """Returns one Module of all programs. See `Program.import_programs`."""
        return next(iter(self.entries.values())).import_programs(self, weights)

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        """The tensors of all programs by joint name: the model's own, not copies, each once."""
        return {name: tensor for p in self.entries.values() for name, tensor in p.weights.items()}

    @property
    def tied(self) -> dict[str, str]:
        """Further names of tensors in any of the programs, mapped to the joint name."""
        return {name: first for p in self.entries.values() for name, first in p.tied.items()}

    @property
    def notes(self) -> tuple[Note, ...]:
        """All differences from the model that the user passed in, each once.

        A note that does not hold for all entry points names its own.
        """
        by_note: dict[Note, list[str]] = {}
        for entry, program in self.entries.items():
            for note in program.notes:
                by_note.setdefault(note, []).append(entry)
        everywhere = list(self.entries)
        return self.source_notes + tuple(
            note if entries == everywhere else Note(note.kind, f"{', '.join(entries)}: {note.text}")
            for note, entries in by_note.items()
        )

    @property
    def strategy(self) -> str:
        """The capture strategies that succeeded, each once."""
        return ", ".join(dict.fromkeys(p.strategy for p in self.entries.values()))

    @property
    def seconds(self) -> dict[str, float]:
        """Time spent on all programs, by step."""
        total: dict[str, float] = {}
        for program in self.entries.values():
            for step, seconds in program.seconds.items():
                total[step] = total.get(step, 0.0) + seconds
        return total
