"""Bundles of captured programs, without PyTorch, stored with the program's entry.

They are for the runner `pipelines.backends.table.BUNDLED`. Running a bundle needs neither the
importers nor IREE's compiler, which are imported only when a bundle is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.backends.table import BUNDLED
from unmess.core.cache import artifacts
from unmess.core.errors.error import Error
from unmess.core.options.processor import processor
from unmess.core.signature.signature import Constant
from unmess.core.signature.tree import unflatten
from unmess.program_cache.entry import EXAMPLE, Entry, make_room, publish, unfinished

if TYPE_CHECKING:
    from unmess.bundle import Bundle
    from unmess.core.program.program import Program
    from unmess.core.program.programs import Programs

# A file in the bundle's folder that its manifest does not list.
_CHOICE = "choice.json"


@dataclass(frozen=True)
class Choice:
    """The user's options of the compilation: `--cpu`, `--preset` and `--unchecked`."""

    cpu: str = "host"
    preset: str | None = None
    unchecked: bool = False

    def folder(self, entry: Entry) -> Path:
        """Returns the folder of the bundle for these options. It need not exist."""
        about = json.dumps([self.cpu, self.preset, self.unchecked, processor()])
        return entry.folder / f"{BUNDLED}-{hashlib.sha256(about.encode()).hexdigest()[:16]}"


def find_bundle(entry: Entry, choice: Choice) -> Bundle | None:
    """Returns the bundle of a program; None if there is none. Imports NumPy and IREE's runtime."""
    folder = choice.folder(entry)
    try:
        known = json.loads((folder / _CHOICE).read_text())
        tuned = _tuned(known["tuned_key"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # `unmess tune` may have found another preset since.
    if tuned != known["tuned"]:
        return None
    from unmess.bundle import load

    try:
        return load(folder, verify_checksums=False)
    except Error:
        # The caller makes it again.
        return None


def make_bundle(
    entry: Entry, program: Program | Programs, choice: Choice, seconds: dict[str, float]
) -> Bundle | None:
    """Compiles a program to a bundle, and stores the bundle in the entry's folder.

    Args:
        seconds: receives the duration of each step.

    Returns:
        The bundle; None if the program cannot have one, or it cannot be written.

    Raises:
        Error: the stage that failed.
    """
    from pipelines.iree.presets import tuned_key
    from pipelines.iree.targets import target
    from pipelines.iree.vm_module import program_key
    from unmess.bundle import load
    from unmess.core.options.target_options import TargetOptions
    from unmess.packaging import package

    options = TargetOptions(cpu=choice.cpu, preset=choice.preset)
    place = choice.folder(entry)
    try:
        with unfinished(entry.folder.parent) as scratch:
            made = scratch / "bundle"
            package(
                program,
                made,
                on=BUNDLED,
                target=options,
                unchecked=choice.unchecked,
                seconds=seconds,
            )
            module, chosen = program.to_module(), target(BUNDLED, options)
            key = program_key(module, BUNDLED, chosen)
            tuned = None if key is None or choice.preset is not None else tuned_key(key)
            known = {"tuned_key": tuned, "tuned": _tuned(tuned)}
            (made / _CHOICE).write_text(json.dumps(known))
            size = sum(path.stat().st_size for path in made.iterdir())
            publish(made, place)
        make_room(size)
        return load(place, verify_checksums=False)
    except OSError:
        return None
    except Error as problem:
        # The call cannot be expressed without PyTorch, or the disk is full.
        if problem.stage == "usage":
            return None
        raise


def example_call(entry: Entry, bundle: Bundle, name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the example call of an entry point, with NumPy arrays."""
    about = entry.about
    arrays = _arrays(entry.folder / EXAMPLE) if EXAMPLE in about["files"] else {}
    values: Mapping[str, Any] = {
        **{key.removeprefix(f"{name}."): array for key, array in arrays.items()},
        **about["numbers"][name],
    }
    signature = bundle.signatures[name]
    leaves = [
        leaf.spec.value
        if isinstance(leaf.spec, Constant)
        else _restrided(values[f"input.{leaf.name}"], getattr(leaf.spec, "strides", None))
        for leaf in signature.inputs
    ]
    return unflatten(signature.in_spec, iter(leaves))


def _restrided(value: Any, strides: Sequence[int | None] | None) -> Any:
    """Returns an array with these strides; see `unmess.core.program.strides.restrided`."""
    if strides is None or None in strides or not value.size:
        return value
    import numpy as np

    last = sum(step * (size - 1) for step, size in zip(strides, value.shape, strict=True))
    memory = np.empty(last + 1, value.dtype)
    steps = [step * value.itemsize for step in strides]
    array = np.lib.stride_tricks.as_strided(memory, value.shape, steps)
    array[...] = value
    return array


def _arrays(path: Path) -> dict[str, Any]:
    import ml_dtypes  # noqa: F401  (gives NumPy bfloat16, which safetensors looks up)
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        pairs = json.loads((file.metadata() or {}).get("unmess.complex", "[]"))
        arrays = {name: file.get_tensor(name) for name in tuple(file.keys())}
    for name in pairs:
        kind = {"float32": "complex64", "float64": "complex128"}[str(arrays[name].dtype)]
        arrays[name] = arrays[name].view(kind)[..., 0]
    return arrays


def _tuned(key: str | None) -> str | None:
    content = None if key is None else artifacts.read_artifact(key)
    return None if content is None else content.decode()
