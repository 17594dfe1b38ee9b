"""Adds MLIR as an export format to transformers' own exporters.

Importing this module registers the format `mlir` with `transformers.exporters`.
"""

from __future__ import annotations

import functools
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from transformers.exporters import DynamoConfig, DynamoExporter, ModelRunner, register_backend
from transformers.exporters.metadata import ExportMetadata

from importers.sources.exported_program_safety import load as load_exported
from pipelines.backends.executable import Executable
from pipelines.backends.table import check_runner
from unmess import api
from unmess.core.errors.error import Error, first_line
from unmess.core.module.module import Module
from unmess.core.options.names import check_stage
from unmess.core.program.program import Program

FORMAT = "mlir"
# Files inside the saved ExportedProgram.
_STAGE, _NAME = "unmess_stage", "unmess_name"


@dataclass
class MlirConfig(DynamoConfig):
    """Options of an export to MLIR.

    Args:
        stage: of the IR: `raw`, `torch`, `linalg`, `tosa` or `stablehlo`.

    The other options are those of `DynamoConfig`: `dynamic`, `dynamic_shapes`, …
    """

    export_format: str = FORMAT

    stage: str = "linalg"

    def __post_init__(self) -> None:
        check_stage(self.stage)


@dataclass(frozen=True)
class MlirProgram:
    """One exported graph, as captured and as IR. Both borrow the model's tensors.

    Attributes:
        name: the name of the model's class.
        exported: the program that transformers traced.
        stage: the stage of `module`.
    """

    name: str
    exported: torch.export.ExportedProgram
    stage: str

    @functools.cached_property
    def program(self) -> Program:
        """The Program, for `unmess.check`, `unmess.combine` and other stages."""
        program = api.capture(self.exported)
        program.name = self.name
        return program

    @functools.cached_property
    def module(self) -> Module:
        """The IR: one function, with the weights as named arguments."""
        return api.lower(self.program, self.stage)


class MlirExporter(DynamoExporter):
    """Exports a model of transformers to MLIR.

    `DynamoExporter` traces the graph, with its patches of models and its caches as pytrees, and
    unmess lowers it. It is saved as the IR, `model.mlir`, and beside it the traced program with
    the weights, `model.pt2`.
    """

    export_format = FORMAT
    config_class = MlirConfig
    program_suffix = ".mlir"

    tested_versions: ClassVar[dict[str, str]] = {"torch": "2.13.0"}

    def export_program(
        self, model: Any, sample_inputs: MutableMapping[str, Any], config: MlirConfig
    ) -> tuple[MlirProgram, ExportMetadata]:
        """Traces and lowers one graph; see `HfExporter.export_program`.

        Raises:
            Error: the stage that failed.
        """
        exported, metadata = super().export_program(model, sample_inputs, config)
        program = MlirProgram(type(model).__name__, exported, config.stage)
        # Lower it now, so that the export raises the errors of lowering.
        _ = program.module
        return program, metadata

    @classmethod
    def save_program(cls, program: MlirProgram, path: str | Path) -> None:
        """Writes the IR to `path` and the traced program with the weights beside it."""
        program.module.save(path, alone=True)
        texts = {_STAGE: program.stage, _NAME: program.name}
        torch.export.save(program.exported, _weights_file(path), extra_files=texts)

    @classmethod
    def load_program(cls, path: str | Path) -> MlirProgram:
        """Loads a program that `save_program` wrote; the IR is lowered again on first use.

        Raises:
            Error: stage `source`; PyTorch cannot read the file, or the file can run code.
        """
        texts = {_STAGE: "", _NAME: ""}
        try:
            exported = load_exported(Path(_weights_file(path)), extra_files=texts)
        except Error:
            raise
        except Exception as problem:
            raise Error(
                "source",
                f"PyTorch cannot read {_weights_file(path)}: {first_line(problem)}",
                hint="save the export again with this version of PyTorch",
            ) from problem
        return MlirProgram(texts[_NAME], exported, texts[_STAGE])

    @classmethod
    def program_files(cls, filename: str) -> list[str]:
        """Returns the names of the files: the IR, and the traced program beside it."""
        return [filename, _weights_file(filename)]


class MlirModelRunner(ModelRunner):
    """Runs an exported graph on a runner of unmess."""

    def __init__(self, executable: Executable, metadata: ExportMetadata):
        super().__init__(metadata)
        self.executable = executable

    @property
    def device(self) -> torch.device:
        """The device of arguments and results: the CPU."""
        return torch.device("cpu")

    @classmethod
    def from_program(
        cls,
        program: MlirProgram,
        metadata: ExportMetadata,
        device: Any = None,
        on: str = "reference",
    ) -> MlirModelRunner:
        """Compiles and loads a graph.

        Args:
            on: `reference` or `iree-cpu`; `exported.to(on="iree-cpu")`.

        Raises:
            Error: stage `usage`, or the stage that failed.
        """
        check_runner(on)
        if device is not None and torch.device(device).type != "cpu":
            raise Error("usage", f"there is no runner on {device}", hint="omit the device")
        # A module at another stage would be lowered further, and must stay what was exported.
        source = program.module if program.stage == "linalg" else program.program
        return cls(api.load(source, on), metadata)

    def __call__(
        self, share_inputs: bool = True, share_outputs: bool = False, **kwargs: Any
    ) -> Any:
        """Runs the graph on the keyword arguments of the traced `forward`.

        The two flags, which the library passes, have no effect: inputs are read in place, and
        results always belong to the caller.
        """
        return self.executable(**{**self.metadata.in_constants, **kwargs})


def _weights_file(path: str | Path) -> str:
    return str(Path(path).with_suffix(".pt2"))


register_backend(MlirExporter, MlirModelRunner)
