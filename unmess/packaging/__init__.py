"""Writes bundles: folders from which `unmess.bundle` runs programs without PyTorch."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from pipelines.backends.table import check_packaged
from unmess.bundle.elements import SUPPORTED
from unmess.bundle.manifest import FORMAT, MODULE, SIGNATURE, STATE, WEIGHTS, Manifest
from unmess.core.errors.error import Error
from unmess.core.errors.failure import only_errors
from unmess.core.files.reading import described
from unmess.core.files.writing import UNFINISHED, writing_to
from unmess.core.module.module import Module
from unmess.core.options.target_options import TargetOptions
from unmess.core.processes.current_stage import enter_stage
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs
from unmess.core.program.weights import check_weights, row_major
from unmess.core.signature.serialized import form_of, without_form
from unmess.core.signature.torch_signature import TorchSignature

_PACKAGES = ("torch", "torch-mlir", "iree-base-compiler", "iree-base-runtime")
TOKENIZER = "tokenizer"


@only_errors()
def package(
    program: Program | Programs,
    folder: str | Path,
    on: str = "iree-cpu",
    target: TargetOptions | None = None,
    tokenizer: Iterable[Path] = (),
    unchecked: bool = False,
    seconds: dict[str, float] | None = None,
) -> Manifest:
    """Writes a program to a folder from which `unmess.bundle.load` runs it without PyTorch.

    The folder holds the compiled module, weights, initial state, the signature, and a manifest
    with versions and checksums. It is created as a whole or not at all.

    Args:
        folder: must be empty or not exist.
        on: the runner to compile for: one of IREE's, or `metal`.
        target: the hardware to compile for; by default that of this computer.
        tokenizer: files to copy to the bundle's folder `tokenizer`.
        unchecked: leave out the checks of indices and other data when the program runs. An index
            that is out of range then reads or writes memory outside of its tensor.
        seconds: filled with the time of each step, in seconds.

    Returns:
        The bundle's manifest.

    Raises:
        Error: stage `usage`; `folder` is not empty, or the program's call has no form without
            PyTorch. Otherwise, the stage that failed.
    """
    folder = Path(folder)
    check_packaged(on)
    check_folder(folder)
    # Imported here, so that IREE's libraries are loaded only when they are needed.
    from pipelines.iree.cpu_features import required_cpu
    from pipelines.iree.packing import packed_weights
    from pipelines.iree.parameters import SCOPE
    from pipelines.iree.targets import target as target_of
    from pipelines.iree.vm_module import vm_module

    chosen = target_of(on, target)
    enter_stage("import")
    module = program.to_module()
    check_weights(module.entries, module.weights, "load")
    module.seconds.setdefault("lower", 0.0)
    start = time.perf_counter()
    compiled = vm_module(module, on, chosen, module.seconds, unchecked=unchecked)
    module.seconds["compile"] = time.perf_counter() - start - module.seconds["lower"]
    if seconds is not None:
        seconds |= module.seconds
    enter_stage("compile")
    cpu = required_cpu(chosen.options)
    with writing_to(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=folder.parent) as scratch:
            # Use a new folder inside, since only its owner can access a temporary folder.
            made = Path(scratch) / "bundle"
            made.mkdir()
            (made / MODULE).write_bytes(compiled.code)
            write_signature(made / SIGNATURE, module)
            weights = _tensors(module, "weight")
            if compiled.packs:
                weights = packed_weights(compiled, weights)
            _write_tensors(made / WEIGHTS, weights)
            _write_tensors(made / STATE, _tensors(module, "state"))
            _copy(tokenizer, made / TOKENIZER)
            names = sorted(
                path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()
            )
            manifest = Manifest(
                format=FORMAT,
                name=program.name,
                runner=on,
                device=chosen.device,
                architecture=chosen.architecture,
                machine=None if cpu is None else cpu[0],
                features=() if cpu is None else tuple(sorted(cpu[1])),
                scope=SCOPE,
                checked=not unchecked,
                notes=tuple(map(str, (*program.notes, *chosen.notes, *compiled.notes))),
                versions={name: importlib.metadata.version(name) for name in _PACKAGES},
                files=described(made, names),
            )
            manifest.write(made)
            made.replace(folder)
    return manifest


def check_folder(folder: Path) -> None:
    """Raises an Error (`usage`) if a bundle cannot be written to `folder`."""
    with writing_to(folder):
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
    raise Error("usage", f"{folder} exists already", hint="remove it, or choose another name")


def _tensors(module: Module, kind: str) -> dict[str, torch.Tensor]:
    names = [a.name for s in module.entries.values() for a in s.of_kind(kind)]
    return {name: row_major(module.weights[name]) for name in names}


def _write_tensors(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    if tensors:
        from pipelines.iree.weight_files import write_archive

        # Create the file first: IREE creates files that only their owner can read.
        path.touch()
        write_archive(path, tensors)


def _copy(files: Iterable[Path], folder: Path) -> None:
    for path in files:
        folder.mkdir(exist_ok=True)
        shutil.copyfile(path, folder / path.name)


def write_signature(path: Path, module: Module) -> None:
    """Writes the signatures of a module's entry points.

    Raises:
        Error: stage `usage`; something in a call has no form without PyTorch.
    """
    entries = {name: _entry(signature) for name, signature in module.entries.items()}
    path.write_text(json.dumps({"entries": entries}, indent=1) + "\n")


def _entry(signature: TorchSignature) -> dict[str, Any]:
    if signature.restore is not None:
        raise without_form(
            "a result that Python code converts after the call, as in detection models"
        )
    return form_of(signature, kinds=("input", "state"), dtypes=SUPPORTED)
