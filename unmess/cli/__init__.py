"""The `unmess` command group: one file per subcommand, each a thin layer over the library.

Nothing here imports PyTorch until a command needs it, so that help and usage errors appear at once.
A command line imports only the file of its subcommand.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

import click

_NAMES = (
    *("analyze", "cache", "check", "conformance", "contract", "corpus", "doctor", "generate"),
    *("import", "matrix", "models", "ops", "package", "partition", "pipeline", "portable"),
    *("recipe", "repairs", "report", "run", "schema", "targets", "triage", "tune", "view"),
)
# The file and the function of each command whose name is a keyword or already in use.
_OTHER_NAMES = {
    "import": ("import_", "import_"),
    "package": ("package", "package_"),
    "partition": ("partition", "partition_"),
}
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
    import importlib.metadata

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


class _Commands(Mapping[str, click.Command]):
    """The subcommands by name. Each is imported when it is used."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in _NAMES:
            raise KeyError(name)
        file, command = _OTHER_NAMES.get(name, (name, name))
        return getattr(importlib.import_module(f"unmess.cli.{file}"), command)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


@click.group(
    commands=_Commands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
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
