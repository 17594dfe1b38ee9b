"""`bundle.json`: a bundle's target and files, and the checks of both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unmess.core.errors.error import Error
from unmess.core.files.reading import damage, read_manifest_file, sealed, unsealed
from unmess.core.options.processor import machine, processor_features

# The format of the folder. Increase it if an older `load` would handle a new bundle wrongly.
FORMAT = 3
NAME = "bundle.json"
MODULE, SIGNATURE = "module.vmfb", "signature.json"
WEIGHTS, STATE = "weights.irpa", "state.irpa"


@dataclass(frozen=True)
class Manifest:
    """The content of `bundle.json`.

    Attributes:
        format: the format of the folder, `FORMAT`.
        name: the model's name.
        runner: the runner that it was compiled for.
        device: the device of IREE's runtime that runs it.
        architecture: of the GPU that it was compiled for, such as `sm_80`; None if it has no
            name, or there is no GPU.
        machine: architecture of the CPU that runs it, `x86_64` or `aarch64`; None for any.
        features: the features that this CPU must have, by LLVM's names.
        scope: the scope of the parameters that the module reads as its weights.
        checked: whether the code checks indices and other data when it runs.
        versions: the versions of the packages that made it, by package.
        notes: how the program differs from the given model, and what was chosen for it, a line
            each.
        files: size in bytes and SHA-256 of every other file, by its path in the folder.
    """

    format: int
    name: str
    runner: str
    device: str
    architecture: str | None
    machine: str | None
    features: tuple[str, ...]
    scope: str
    checked: bool
    versions: dict[str, str]
    notes: tuple[str, ...]
    files: dict[str, dict[str, Any]]

    def write(self, folder: Path) -> None:
        """Writes `bundle.json` into the bundle, with a checksum of its content."""
        (folder / NAME).write_text(json.dumps(sealed(asdict(self)), indent=1) + "\n")

    @property
    def target(self) -> str:
        """The runner and architecture, for messages: `iree-cuda (sm_80)`."""
        return self.runner + (f" ({self.architecture})" if self.architecture else "")

    def check_processor(self) -> None:
        """Raises an Error (`load`) if this computer's CPU cannot run the bundle."""
        if self.machine is None:
            return
        here = processor_features()
        lacking = sorted(set(self.features) - here)
        if self.machine != machine():
            cause = f"the bundle is for {self.machine} CPUs, but this is a {machine()} CPU"
        # Skip the check if the CPU features are unknown.
        elif lacking and here:
            cause = (
                f"the bundle is for other {self.machine} CPUs: this CPU lacks {', '.join(lacking)}"
            )
        else:
            return
        raise Error(
            "load",
            cause,
            hint="package the model on this computer, or with --cpu generic for any CPU",
        )

    def check_files(self, folder: Path, *, verify_checksums: bool) -> None:
        """Compares the files with the sizes and checksums in the manifest.

        Args:
            verify_checksums: compare the checksums of large files too, not only their sizes.

        Raises:
            Error: stage `load`; a file is missing, altered, or not listed.
        """
        for name in (MODULE, SIGNATURE):
            if name not in self.files:
                raise _unusable(folder, f"{NAME} does not list {name}")
        if problem := damage(folder, self.files, verify_checksums=verify_checksums):
            raise _unusable(folder, problem)


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest of a bundle.

    Raises:
        Error: stage `load`; there is none, it is damaged or altered, or has another format.
    """
    path = folder / NAME
    try:
        fields = read_manifest_file(path)
        found = fields["format"]
    except FileNotFoundError:
        raise _unusable(folder, f"there is no {NAME}: the folder is not a bundle") from None
    except OSError as problem:
        raise _unusable(folder, f"cannot read {NAME}: {problem.strerror}") from problem
    except (ValueError, KeyError, TypeError):
        raise _unusable(folder, f"{NAME} is damaged") from None
    if type(found) is not int:
        raise _unusable(folder, f"{NAME} is damaged")
    # Check the format first: other formats may have other fields and checksums.
    if found != FORMAT:
        remedy = "package the model again"
        raise Error(
            "load",
            f"{folder} is a bundle of format {found}, but this version of unmess reads "
            f"format {FORMAT}",
            hint=f"update unmess, or {remedy}" if found > FORMAT else remedy,
        )
    fields = unsealed(fields)
    if fields is None:
        raise _unusable(folder, f"{NAME} was altered since it was written")
    if not _is_manifest(fields):
        raise _unusable(folder, f"{NAME} is damaged")
    lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    return Manifest(**fields | lists)


def _is_manifest(fields: Mapping[str, Any]) -> bool:
    """Returns whether the fields fit `Manifest`. `check_files` checks the entries of `files`."""
    kinds = {
        "format": int,
        "name": str,
        "runner": str,
        "device": str,
        "architecture": (str, type(None)),
        "machine": (str, type(None)),
        "features": list,
        "scope": str,
        "checked": bool,
        "versions": dict,
        "notes": list,
        "files": dict,
    }
    return fields.keys() == kinds.keys() and all(
        isinstance(fields[name], kind) for name, kind in kinds.items()
    )


def _unusable(folder: Path, cause: str) -> Error:
    return Error("load", f"{folder}: {cause}", hint="write it again with `unmess package`")
