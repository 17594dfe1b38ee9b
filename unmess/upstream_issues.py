"""Issues of other projects that this project works around, recorded in `upstream_issues.yaml`.

This module does not import PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from importers.repair_list import recorded_repairs
from unmess.environment.versions import versions

FILE = Path(__file__).with_name("upstream_issues.yaml")

_IMPORTS = """\
import math

import torch
import torch.nn.functional as F
from torch.export import Dim"""

_WRAPPER = """\
class Wrapper(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def compare(model, *inputs, dynamic_shapes=None, **options):
    model = model if isinstance(model, torch.nn.Module) else Wrapper(model)
    dynamic = {"inputs": dynamic_shapes} if dynamic_shapes else None
    print("eager:", model(*inputs))"""

# How the programs are run, by `through`.
_IMPORT_INTO_MLIR = """\
    module = fx.export_and_import(
        model, *inputs, output_type="{}", dynamic_shapes=dynamic, **options
    )"""
_WAYS = {
    "linalg": ("from torch_mlir import fx", _IMPORT_INTO_MLIR + "\n    print(module)"),
    "tosa": ("from torch_mlir import fx", _IMPORT_INTO_MLIR + "\n    print(module)"),
    "stablehlo": ("from torch_mlir import fx", _IMPORT_INTO_MLIR + "\n    print(module)"),
    "iree": (
        "import iree.compiler\nimport iree.runtime\nfrom torch_mlir import fx",
        _IMPORT_INTO_MLIR
        + """
    options = ["--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false"]
    binary = iree.compiler.compile_str(
        str(module), target_backends=["llvm-cpu"], extra_args=options
    )
    program = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")
    print("IREE:", program.main(*(each.numpy() for each in inputs)))""",
    ),
    "decompositions": (
        "",
        """\
    program = torch.export.export(model, inputs).run_decompositions()
    print("decomposed:", program.module()(*inputs))""",
    ),
}
OUTPUT_TYPES = {"linalg": "linalg-on-tensors", "iree": "linalg-on-tensors"}


@dataclass(frozen=True)
class Program:
    """A call that fails, or whose result differs from eager PyTorch.

    Attributes:
        model: an expression, or statements that define `model`, in Python.
        inputs: the arguments of the call, in Python.
        rejected: arguments of the compiled program that eager rejects, and the program does not.
        dynamic: the dynamic shapes of the inputs, in Python.
        options: further arguments of `torch_mlir.fx.export_and_import`.
    """

    model: str
    inputs: str
    rejected: str | None = None
    dynamic: str | None = None
    options: dict[str, Any] | None = None

    @property
    def defines_model(self) -> bool:
        """Whether `model` has statements."""
        return "\n" in self.model

    def call(self) -> str:
        """Returns the lines of Python that compare this program with eager PyTorch."""
        arguments = ["model" if self.defines_model else self.model]
        arguments += [self.inputs] if self.inputs else []
        arguments += [f"dynamic_shapes={self.dynamic}"] if self.dynamic else []
        arguments += [f"{name}={value}" for name, value in (self.options or {}).items()]
        lines = [*self.model.splitlines(), ""] if self.defines_model else []
        lines.append(f"compare({', '.join(arguments)})")
        if self.rejected is not None:
            lines.append(
                f"# The compiled program accepts ({self.rejected}); eager raises an error."
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class UpstreamIssue:
    """A defect of another project, or a feature that it lacks.

    Attributes:
        name: the name for `unmess repairs --issue`.
        project: the repository on GitHub.
        observed: what happens.
        through: the way in which the programs are compiled, a key of `_WAYS`.
        affects: names of repairs, decompositions, steps and known limits that exist because of it.
        link: the address of the issue, or None if it was not reported.
        programs: calls that show the defect.
        test: the test that fails when the defect is gone, if there are no programs.
    """

    name: str
    project: str
    title: str
    observed: str
    through: str
    affects: tuple[str, ...]
    link: str | None = None
    programs: tuple[Program, ...] = ()
    test: str | None = None

    @property
    def address(self) -> str:
        """The link, or the command that prints the text."""
        return self.link or f"unmess repairs --issue {self.name}"

    def text(self) -> str:
        """Returns the issue in Markdown, ready to be filed."""
        parts = [f"# {self.title}"]
        if self.link:
            parts.append(f"Reported as {self.link}.")
        parts.append(f"## Observed\n\n{self.observed}")
        operators = [
            f"`{repair.mends}`"
            for repair in recorded_repairs()
            if repair.kind == "decomposition" and repair.name in self.affects
        ]
        if operators:
            parts.append(f"## Operators\n\n{', '.join(operators)}")
        if self.programs:
            parts.append(f"## Reproducer\n\n```python\n{self._script()}\n```")
        if self.test:
            parts.append(f"## Test\n\n`{self.test}` of unmess fails when this is fixed.")
        table = "\n".join(f"| {name} | {version} |" for name, version in versions().items())
        parts.append(f"## Versions\n\n| | |\n| --- | --- |\n{table}")
        return "\n\n".join(parts) + "\n"

    def _script(self) -> str:
        imports, run = _WAYS[self.through]
        run = run.replace("{}", OUTPUT_TYPES.get(self.through, self.through))
        head = "\n".join(part for part in (_IMPORTS, imports) if part)
        calls = "\n\n".join(program.call() for program in self.programs)
        return f"{head}\n\n\n{_WRAPPER}\n{run}\n\n\n{calls}"


def upstream_issues() -> dict[str, UpstreamIssue]:
    """Reads the issues by name."""
    entries = yaml.load(FILE.read_text(), yaml.CSafeLoader)["issues"]
    return {
        entry["name"]: UpstreamIssue(
            **{
                **entry,
                "affects": tuple(entry["affects"]),
                "programs": tuple(Program(**each) for each in entry.get("programs", ())),
            }
        )
        for entry in entries
    }


def issues_by_affected() -> dict[str, UpstreamIssue]:
    """Maps each repair, decomposition, step and limit to the first issue that affects it."""
    issues = reversed(upstream_issues().values())
    return {name: issue for issue in issues for name in issue.affects}


def no_defects() -> dict[str, str]:
    """Reads which repairs, steps and limits are due to no defect of another project, and why."""
    return yaml.load(FILE.read_text(), yaml.CSafeLoader)["no_defects"]
