"""The source `file.onnx`: a checked ONNX model, with its weights separate from the graph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from importers.sources.example_inputs import TensorLike, random_tensors
from importers.sources.missing import existing_file
from importers.sources.source import Source
from unmess.core.errors.error import Error, first_line

if TYPE_CHECKING:
    import onnx

    from importers.onnx.model import OnnxModel

# Too few operators of older opsets have lowerings, so older models are converted.
_OLDEST = 13
_CONVERTED_TO = 17
# Dynamic sizes in the example. 0 and 1 would be special.
_EXAMPLE_SIZE = 2


def find(path: str) -> Source:
    """Loads the ONNX file at `path`, with random example inputs of the declared shapes.

    Raises:
        Error: stage `source`, if the package onnx is missing, or the file is missing, damaged, not
            an ONNX model, of an opset too old or too new, or lacks its external data.
    """
    try:
        import onnx
    except ModuleNotFoundError:
        raise Error(
            "source",
            "ONNX files need the package onnx, which is not installed",
            hint="pip install 'unmess[onnx]' (the locked environment has it)",
        ) from None
    file = existing_file(path, (".onnx",))
    from importers.onnx.model import OnnxModel

    proto = _read(onnx, path, file)
    notes: list[str] = []
    proto = _of_supported_opset(onnx, path, file, proto, notes)
    try:
        model = OnnxModel(proto, file.parent)
    except Error:
        raise
    except Exception as problem:
        raise _invalid(path, problem) from problem
    notes.insert(0, f"compared with {model.reference.name}, since there is no PyTorch model")
    return Source(file.stem, model, _example(model, notes), notes=tuple(notes))


def _read(onnx, path: str, file: Path) -> onnx.ModelProto:
    try:
        proto = onnx.load(file, load_external_data=False)
    except Exception as problem:
        raise Error(
            "source",
            f"{path} is not an ONNX model, or is damaged: {first_line(problem)}",
            hint="write it again with onnx.save or torch.onnx.export",
        ) from problem
    if not proto.opset_import or not proto.graph.output:
        raise Error(
            "source",
            f"{path} is not an ONNX model: it has no graph",
            hint="write it with onnx.save or torch.onnx.export",
        )
    return proto


def _of_supported_opset(
    onnx, path: str, file: Path, proto: onnx.ModelProto, notes: list[str]
) -> onnx.ModelProto:
    version = max((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), default=0)
    newest = onnx.defs.onnx_opset_version()
    if version > newest or proto.ir_version > onnx.IR_VERSION:
        what = f"opset {version}" if version > newest else f"IR version {proto.ir_version}"
        raise Error(
            "source",
            f"{path} has {what}, newer than onnx {onnx.__version__} knows (opset {newest}, "
            f"IR version {onnx.IR_VERSION})",
            hint=f"write it with an opset of {_OLDEST} to {newest}",
        )
    if not 0 < version < _OLDEST:
        return proto
    try:
        whole = onnx.load(file)
        converted = onnx.version_converter.convert_version(whole, _CONVERTED_TO)
    except Exception as problem:
        raise Error(
            "source",
            f"{path} has opset {version}, which is too old and does not convert to "
            f"{_CONVERTED_TO}: {first_line(problem)}",
            hint=f"write it with an opset of {_OLDEST} to {newest}",
        ) from problem
    notes.append(f"converted from opset {version} to {_CONVERTED_TO}")
    return converted


def _invalid(path: str, problem: Exception) -> Error:
    text = " ".join(str(problem).split())
    return Error(
        "source",
        f"{path} is not a valid ONNX model: {re.sub(r'^.*?Error: ', '', text)[:240] or problem!r}",
        hint="onnx.checker.check_model says more",
    )


def _example(model: OnnxModel, notes: list[str]) -> tuple:
    open_sizes = sorted(
        {str(size) for value in model.inputs for size in value.shape if not isinstance(size, int)}
    )
    if open_sizes:
        notes.append(f"dynamic sizes ({', '.join(open_sizes)}) are {_EXAMPLE_SIZE} in the example")
    return random_tensors(
        tuple(
            TensorLike(
                tuple(size if isinstance(size, int) else _EXAMPLE_SIZE for size in value.shape),
                value.dtype,
            )
            for value in model.inputs
        )
    )
