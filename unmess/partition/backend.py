"""A backend that divides programs between another backend and eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pipelines.backends.backend import Backend, BackendInput, Numerics
from unmess.core.errors.error import Error
from unmess.core.module.module import Module
from unmess.core.program.note import Note
from unmess.core.program.weights import row_major
from unmess.partition.partition import Division
from unmess.partition.partitioned import PartitionedGraph


@dataclass(frozen=True)
class Artifact:
    """The compiled regions of each entry point."""

    partitions: Mapping[str, PartitionedGraph]

    @property
    def notes(self) -> tuple[Note, ...]:
        """A note for each operator in eager PyTorch and line of the user, and those of regions."""
        notes = [note for each in self.partitions.values() for note in fallback_notes(each)]
        for each in self.partitions.values():
            notes += [note for region in each.regions for note in region.executable.notes]
        return tuple(dict.fromkeys(notes))

    def seconds(self, step: str) -> float:
        """Returns the time spent on a step for all regions."""
        regions = [region for each in self.partitions.values() for region in each.regions]
        return sum(region.executable.seconds.get(step, 0.0) for region in regions)

    @property
    def preset(self) -> str | None:
        """The name of the options that the compiler used for the regions."""
        executables = [r.executable for each in self.partitions.values() for r in each.regions]
        return executables[0].preset if executables else None

    @property
    def has_globals(self) -> bool:
        """Returns False: the Executable of each region protects its own globals."""
        return False


class PartitionBackend:
    """Compiles regions of programs with a backend. The rest runs in eager PyTorch."""

    input = BackendInput(stage=None, weights="external", several_entries=True, tensors="native")

    def __init__(
        self, backend: Backend, divisions: Mapping[str, Division], first_error: Error | None
    ):
        """Prepares the compilation.

        Args:
            divisions: the program of each entry point.
            first_error: the error of the program as a whole, if it was tried.
        """
        self.name = backend.name
        self.tolerances = dict(getattr(backend, "tolerances", {}))
        self.numerics: Numerics = getattr(backend, "numerics", Numerics())
        self._divisions = divisions
        self._first_error = first_error

    def compile(self, module: Module, folder: Path) -> Artifact:
        """See `Backend.compile`."""
        divisions = self._divisions.values()
        for division in divisions:
            # The error does not say which of several entry points has failed.
            division.compile(self._first_error if len(divisions) == 1 else None)
        artifact = Artifact({entry: each.graph() for entry, each in self._divisions.items()})
        for step in ("import", "lower"):
            module.seconds[step] = module.seconds.get(step, 0.0) + artifact.seconds(step)
        return artifact

    def load(self, artifact: Artifact) -> dict[str, Callable[..., Sequence[Any]]]:
        """See `Backend.load`."""
        return {entry: _with_own_results(each) for entry, each in artifact.partitions.items()}


def fallback_notes(graph: PartitionedGraph) -> list[Note]:
    """Returns notes about the operators that run in eager PyTorch, with the reasons."""
    if not graph.outside:
        return []
    count = len(graph.regions)
    notes = [
        Note(
            "fallback",
            f"{count} compiled {'region has' if count == 1 else 'regions have'} "
            f"{graph.compiled_share:.1%} of the floating-point operations",
        )
    ]
    for operator in graph.outside:
        place = f" at {operator.where}" if operator.where else ""
        notes.append(
            Note(
                "fallback",
                f"{operator.operator}{place} runs in eager PyTorch: {operator.reason}",
            )
        )
    return notes


def _with_own_results(graph: PartitionedGraph) -> Callable[..., Sequence[Any]]:
    """Returns a function whose results share no memory with its arguments, or with each other."""
    run, weights = graph.graph_module.forward, _tensors_of(graph.graph_module)

    def call(*operands: Any) -> Sequence[Any]:
        with torch.no_grad():
            results = run(*operands)
        taken = {_memory(value) for value in (*weights, *operands)}
        own = []
        for value in results:
            if isinstance(value, torch.Tensor):
                value = row_major(value)
                if _memory(value) in taken:
                    value = value.clone()
                taken.add(_memory(value))
            own.append(value)
        return own

    return call


def _memory(value: Any) -> int:
    """Returns the address of the memory that a tensor shares with its views; 0 for a number."""
    return value.untyped_storage()._cdata if isinstance(value, torch.Tensor) else 0


def _tensors_of(module: torch.fx.GraphModule) -> list[torch.Tensor]:
    return [
        value
        for node in module.graph.find_nodes(op="get_attr")
        if isinstance(value := getattr(module, node.target), torch.Tensor)
    ]
