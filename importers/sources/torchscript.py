"""The sources `file.pt` and `file.pth`: a TorchScript module saved by `torch.jit.save`.

The file of a traced module contains the shapes and dtypes that it was traced with. The example
inputs are random tensors of these. The file of a scripted module contains none, so the user gives
them. Files that are not TorchScript (a state dict, a pickled module) are recognized without
unpickling objects of any class, because unpickling runs code.
"""

from __future__ import annotations

import collections
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch.serialization import get_unsafe_globals_in_checkpoint
from torch.storage import _dtype_to_storage_type_map
from torch.utils import _pytree as pytree

from importers.sources.example_inputs import TensorLike, random_tensors
from importers.sources.missing import existing_file
from importers.sources.source import Source
from importers.sources.torchscript_safety import forbidden_code
from unmess.core.errors.error import Error, first_line, needs_trust

# Storage class names in pickles of tensors, such as `FloatStorage`, to dtypes.
_STORAGE_DTYPES = {name: dtype for dtype, name in _dtype_to_storage_type_map().items()}
_SUFFIXES = (".pt", ".pth")


def find(path: str, trust: bool = False) -> Source:
    """Loads the TorchScript module in the file at `path`.

    Args:
        trust: whether the file's code may call operators that do more than compute, for instance
            write files.

    Raises:
        Error: stage `source`, if the file is missing, is not TorchScript, is damaged or newer than
            this PyTorch, lacks the code of a module, or needs trust.
    """
    file = existing_file(path, _SUFFIXES)
    if _record(file, "constants.pkl") is None:
        _refuse(path, file)
    try:
        if not trust and (call := forbidden_code(file)):
            raise needs_trust(path, f"code with side effects ({call})")
        module = torch.jit.load(file, map_location="cpu")
    except Error:
        raise
    except Exception as problem:
        raise _unloadable(path, problem) from problem
    notes = []
    if getattr(module, "training", False):
        module.eval()
        notes.append("saved in training mode, set to evaluation mode")
    example = _traced_inputs(file)
    if example is None:
        problem = _no_example(path, module)
        return Source(file.stem, module, notes=tuple(notes), without_example=problem)
    notes.append("example inputs are random, with the shapes and dtypes of the traced ones")
    return Source(file.stem, module, random_tensors(tuple(example)), notes=tuple(notes))


def _record(file: Path, name: str) -> str | None:
    """Returns the full name of a record of an archive; None if it is missing or the file damaged.

    Records are in a top-level folder, whose name is ignored.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            return next((n for n in archive.namelist() if n.partition("/")[2] == name), None)
    except Exception:
        # Not only BadZipFile: a damaged header can cause NotImplementedError and others.
        return None


def _refuse(path: str, file: Path) -> NoReturn:
    """Raises an Error (`source`) that describes the content of a file that is not TorchScript."""
    try:
        classes = get_unsafe_globals_in_checkpoint(file)
        content = None if classes else torch.load(file, map_location="meta", weights_only=True)
    except Exception as problem:
        # Reading an arbitrary file may raise any exception.
        raise Error(
            "source",
            f"{path} is not a PyTorch file, or is damaged",
            hint="write it again with torch.jit.save, or as .pt2 with torch.export.save",
        ) from problem
    if classes:
        raise Error(
            "source",
            f"{path} is a pickled Python object (of {', '.join(sorted(classes)[:3])}), which could "
            "run any code when it is read",
            hint="load it in a factory in a Python file (file.py:name) if you trust it",
        )
    tensors = len([leaf for leaf in pytree.tree_leaves(content) if isinstance(leaf, torch.Tensor)])
    raise Error(
        "source",
        f"{path} holds {tensors} tensors and no model (a state dict)",
        hint="build the model in a factory in a Python file (file.py:name) that loads them with "
        "load_state_dict",
    )


def _unloadable(path: str, problem: Exception) -> Error:
    text = str(problem)
    if "maximum supported version" in text:
        cause = f"{path} was written by a newer PyTorch than this one ({torch.__version__})"
        hint = "write it with this PyTorch, or an older one"
    elif "Unknown type name" in text or "Unknown builtin" in text or "object has no" in text:
        missing = text.split("'")[1] if "'" in text else first_line(problem)
        cause = f"{path} lacks the code of {missing}"
        if "Unknown builtin" in text:
            cause = f"{path} calls an unknown operator: {first_line(problem)}"
        hint = (
            "import the library of the operator first, or write the file again with torch.jit.save"
        )
    else:
        cause = f"{path} is damaged: {first_line(problem)}"
        hint = "write it again with torch.jit.save"
    return Error("source", cause, hint=hint)


def _no_example(path: str, module: torch.jit.ScriptModule) -> Error:
    schema = module.forward.schema if hasattr(module, "forward") else None
    arguments = [] if schema is None else list(schema.arguments[1:])
    takes = ", ".join(f"{argument.name}: {argument.type.annotation_str}" for argument in arguments)
    example = " ".join("--input 1x3x224x224xf32" for _ in arguments[:1])
    return Error(
        "source",
        f"{path} holds no example inputs; its forward takes ({takes})",
        hint=f"give each, for instance {example}, or unmess.capture({path!r}, args)",
    )


def _traced_inputs(file: Path) -> list[Any] | None:
    """Returns a module's traced inputs, with a `TensorLike` for each tensor; None if unknown."""
    name = _record(file, "traced_inputs.pkl")
    if name is None:
        return None
    try:
        with zipfile.ZipFile(file) as archive:
            return _Shapes(io.BytesIO(archive.read(name))).load().get("forward")
    except Exception:
        # A damaged record may raise any exception, and the module does not need the record.
        return None


class _Shapes(pickle.Unpickler):
    """Unpickles tensors as their shapes and dtypes; refuses anything else but plain data."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda dtype, _offset, shape, *_: TensorLike(tuple(shape), dtype)
        if (module, name) == ("torch.jit._pickle", "restore_type_tag"):
            return lambda value, _tag: value
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if module == "torch" and name in _STORAGE_DTYPES:
            return _STORAGE_DTYPES[name]
        raise pickle.UnpicklingError(f"{module}.{name}")

    def persistent_load(self, key: tuple) -> torch.dtype:
        _, dtype, *_ = key
        return dtype
