"""The facts on a recipe page. Quick to import, and picklable."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from importers.recipes.limits import Limit
from unmess.core.errors.error import Error
from unmess.core.program.note import Note
from unmess.isolated import Options
from unmess.row import Row


@dataclass(frozen=True)
class Tensors:
    """The number of tensors of a kind, of their elements, and of their bytes."""

    count: int
    elements: int
    bytes: int


@dataclass(frozen=True)
class ProgramFacts:
    """A captured program.

    Attributes:
        name: the name of the program, for file names.
        strategy: the capture strategy that succeeded.
        seconds: time of the capture; None if nothing was captured.
        entries: inputs and results by entry point, as `unmess.describe.call` returns them.
        parameters: the parameters of the model.
        other_tensors: buffers and constants.
        notes: all differences from the model that the user passed in.
        is_captured: False for IR from a file.
    """

    name: str
    strategy: str
    seconds: float | None
    entries: dict[str, dict[str, Any]]
    parameters: Tensors
    other_tensors: Tensors
    notes: tuple[Note, ...]
    is_captured: bool = True

    @property
    def is_static(self) -> bool:
        """Whether no input has a dynamic dimension."""
        return not any(isinstance(size, str) for shape in self.input_shapes for size in shape)

    @property
    def input_shapes(self) -> list[list[int | str]]:
        """The shapes of the inputs that are tensors with dimensions."""
        return [
            leaf["shape"]
            for entry in self.entries.values()
            for leaf in entry["inputs"]
            if leaf["shape"]
        ]


@dataclass(frozen=True)
class EntryCost:
    """The cost of one call of an entry function.

    Attributes:
        flops: floating-point operations; an expression if it depends on an unknown size.
        cost, memory: the lines of `unmess analyze`.
        formula: the floating-point operations at any size; None if no size is dynamic.
    """

    name: str
    flops: int | str
    cost: str
    memory: str
    formula: str | None = None


@dataclass(frozen=True)
class StageFacts:
    """The program at a stage.

    Attributes:
        stage: the stage that was asked for.
        error: why the program does not reach it, or None.
        source: the text of the line `error.where`, if it is the model's own code.
        seconds: time of the import and the lowering.
        operations: the number of operations by dialect, the most frequent first.
        excerpt: the first lines of the entry function.
        costs: at linalg, the cost of each entry function.
    """

    stage: str
    error: Error | None = None
    seconds: float | None = None
    operations: dict[str, int] = field(default_factory=dict)
    excerpt: str = ""
    costs: tuple[EntryCost, ...] = ()
    source: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Returns plain data for a JSON document."""
        return {
            "stage": self.stage,
            "ok": self.error is None,
            "error": None if self.error is None else self.error.document(),
            "seconds": self.seconds,
            "operations": self.operations,
            "excerpt": self.excerpt,
            "costs": [asdict(cost) for cost in self.costs],
        }


@dataclass(frozen=True)
class Facts:
    """Everything on the page.

    Attributes:
        model: the model string as the user wrote it.
        options: the options of the capture.
        arguments: the other arguments of the command line that the page is written by.
        task: the task of a model that has a recipe, or None.
        program: None if the model was not captured.
        stages: the program at each stage of the IR.
        rows: one for each runner and output dialect.
        dynamic: dynamic dimensions that were tried, as `--dynamic` takes them.
        tried: one row for each runner, with these dynamic dimensions.
        limits: the recorded limits of the model.
        folder: where the rows were read from, if they were not measured for this page.
    """

    model: str
    options: Options
    arguments: tuple[str, ...] = ()
    task: str | None = None
    program: ProgramFacts | None = None
    stages: tuple[StageFacts, ...] = ()
    rows: tuple[Row, ...] = ()
    dynamic: str | None = None
    tried: tuple[Row, ...] = ()
    limits: tuple[Limit, ...] = ()
    folder: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Returns plain data for a JSON document."""
        program = None if self.program is None else asdict(self.program)
        return {
            "model": self.model,
            "task": self.task,
            "program": program,
            "stages": [stage.as_json() for stage in self.stages],
            "results": [row.as_json() for row in self.rows],
            "dynamic": self.dynamic,
            "dynamic_results": [row.as_json() for row in self.tried],
            "limits": [asdict(limit) for limit in self.limits],
        }
