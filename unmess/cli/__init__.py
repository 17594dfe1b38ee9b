"""The `unmess` command group: one file per subcommand, each a thin layer over the library.

Nothing here imports PyTorch until a command needs it, so that help and usage errors appear at once.
"""

from __future__ import annotations

import importlib.metadata

import click

from unmess.cli.analyze import analyze
from unmess.cli.cache import cache
from unmess.cli.check import check
from unmess.cli.conformance import conformance
from unmess.cli.contract import contract
from unmess.cli.corpus import corpus
from unmess.cli.doctor import doctor
from unmess.cli.generate import generate
from unmess.cli.import_ import import_
from unmess.cli.matrix import matrix
from unmess.cli.models import models
from unmess.cli.ops import ops
from unmess.cli.package import package_
from unmess.cli.partition import partition_
from unmess.cli.pipeline import pipeline
from unmess.cli.portable import portable
from unmess.cli.recipe import recipe
from unmess.cli.repairs import repairs
from unmess.cli.report import report
from unmess.cli.run import run
from unmess.cli.schema import schema
from unmess.cli.targets import targets
from unmess.cli.triage import triage
from unmess.cli.tune import tune
from unmess.cli.view import view

# Packages whose versions decide what lowers and runs; `--version` prints them.
_LIBRARIES = ("torch", "torch-mlir", "iree-base-compiler")


def _print_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    # Read only here: reading package metadata takes time that other commands need not spend.
    libraries = ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES)
    click.echo(f"unmess {_own_version()} ({libraries})")
    context.exit()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _own_version() -> str:
    """Returns the version from pyproject.toml in a checkout, else from the package's metadata."""
    import tomllib
    from pathlib import Path

    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if not project.is_file():
        return _version("unmess")
    return tomllib.loads(project.read_text())["project"]["version"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the versions and exit.",
)
def cli() -> None:
    """Lower PyTorch models to MLIR, run them, and compare the results with PyTorch.

    \b
    MODEL is one of
      path/to/file.py:name   a factory, class or module in a Python file; without
                             :name the factory called model
      torchvision:NAME       for instance torchvision:resnet18
      hf:TYPE                a tiny network with random weights, for instance hf:bert
      hf:FOLDER, hf:ORG/NAME a Hugging Face model with its own weights
      hf:FILE.gguf           a language model as GGUF
      file.pt2               an ExportedProgram saved by torch.export.save
      file.pt, file.pth      a TorchScript module saved by torch.jit.save
      file.onnx              an ONNX model
      file.mlir, file.mlirbc a file of unmess import -o, or other IR at any stage
      file.jax_export        a function serialized by jax.export

    Results go to stdout; progress, messages and what the model's own code prints go to stderr.
    With --json, stdout is one JSON document.

    \b
    Exit status
      0    success
      1    a result differs from eager PyTorch, or a check of doctor fails
      2    bad usage, or a model that cannot be found or built
      3    a stage failed
      130  interrupted
    For several models, the highest status of 0 to 3 is returned.

    \b
    Tab completion: put this into ~/.bashrc (zsh_source and fish_source work too)
      eval "$(_UNMESS_COMPLETE=bash_source unmess)"
    """


for _command in (
    import_,
    run,
    check,
    triage,
    matrix,
    report,
    recipe,
    corpus,
    conformance,
    generate,
    tune,
    package_,
    models,
    doctor,
    targets,
    ops,
    analyze,
    view,
    partition_,
    portable,
    schema,
    repairs,
    contract,
    pipeline,
    cache,
):
    cli.add_command(_command)
