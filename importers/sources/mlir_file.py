"""The sources `file.mlir`, `file.mlirbc` and `file.jax_export`: IR at any stage.

The dialects of the IR determine the stage.
"""

from __future__ import annotations

from pathlib import Path

from torch_mlir import ir

from importers.ir_file import IrEntry, IrFile
from importers.ir_safety import check_operations
from importers.ir_signature import signature_of_function
from importers.sources.missing import existing_file
from importers.sources.source import Source
from unmess.core.errors.error import Error
from unmess.core.ir.parsing import parse_file
from unmess.core.ir.recognition import public_functions, stage_of
from unmess.core.module.example import recorded
from unmess.core.module.table import (
    Table,
    example_file,
    read_table,
    table_file,
    weights_file,
)
from unmess.core.module.tensors import read_tensors
from unmess.core.options.names import IR_SUFFIXES
from unmess.core.program.note import Note
from unmess.core.program.recorded import Recorded
from unmess.core.signature.serialized import signature_of
from unmess.core.signature.signature import TensorSpec
from unmess.core.signature.torch_signature import TorchSignature


def find(path: str, trust: bool = False) -> Source:
    """Loads the IR in a file, with the weights, signature and example call in files beside it.

    Without a table, every argument is an input, and the user must give the example call.

    Args:
        trust: whether the IR may have any operation, such as calls of C library functions.

    Raises:
        Error: stage `source`, if the file is missing, its table is damaged or does not fit the IR,
            a file that the table lists is missing or damaged, or the IR needs trust; stage
            `usage`, if the IR does not parse.
    """
    file = existing_file(path, IR_SUFFIXES)
    table = read_table(file)
    module = parse_file(file)
    if not trust:
        check_operations(module, path)
    functions = public_functions(module)
    if not functions:
        raise Error(
            "source", f"{path} has no function to call", hint="a func.func that is not private"
        )
    _check_devices(module, path)
    stage = stage_of(module)
    if table is None:
        found = _without_table(file, stage, functions, trust)
    else:
        found = _with_table(file, stage, functions, table, trust)
    parts = {entry: _source(found, entry) for entry in found.entries}
    if len(parts) == 1:
        return next(iter(parts.values()))
    return Source(found.name, IrEntry(found, next(iter(parts))), entries=parts)


def _check_devices(module: ir.Module, path: str) -> None:
    attributes = module.operation.attributes
    for name in ("mhlo.num_partitions", "mhlo.num_replicas"):
        count = ir.IntegerAttr(attributes[name]).value if name in attributes else 1
        if count > 1:
            raise Error(
                "source",
                f"{path} is a program for {count} devices ({name})",
                hint="export it for one device, without sharding",
            )


def _source(file: IrFile, entry: str) -> Source:
    call = file.recorded[entry].call
    model = IrEntry(file, entry)
    if call is not None:
        return Source(file.name, model, *call)
    if not file.entries[entry].inputs:
        return Source(file.name, model)
    problem = Error(
        "source",
        f"{file.path} has no example inputs for {entry}",
        hint="give them with --input, or as unmess.capture(path, args)",
    )
    return Source(file.name, model, without_example=problem)


def _with_table(
    file: Path, stage: str, functions: dict[str, ir.OpView], table: Table, trust: bool
) -> IrFile:
    try:
        entries = {entry: signature_of(form) for entry, form in table.entries.items()}
        numbers = {entry: form["example"] for entry, form in table.entries.items()}
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise Error(
            "source",
            f"{table_file(file)} is damaged",
            hint="export the model again with `unmess import MODEL -o FILE`",
        ) from problem
    for entry, signature in entries.items():
        _check_function(file, entry, signature, functions.get(entry))
    has_weights = any(a.kind != "input" for s in entries.values() for a in s.arguments)
    if has_weights and weights_file(file).name not in table.files:
        raise Error(
            "source",
            f"{table_file(file)} does not list {weights_file(file).name}",
            hint="export the model again with `unmess import MODEL -o FILE`",
        )
    has_example = any(numbers_of is not None for numbers_of in numbers.values())
    path = example_file(file)
    # An example without tensors has no file.
    example = read_tensors(path) if has_example and path.name in table.files else {}
    return IrFile(
        path=file,
        name=table.name,
        # Both stages use the torch dialect.
        stage=table.stage if (stage, table.stage) == ("torch", "raw") else stage,
        weight_mode=table.weights,
        weights=read_tensors(weights_file(file)) if has_weights else {},
        tied=table.tied,
        entries=entries,
        recorded={
            entry: recorded(signature, entry, str(file), example, numbers[entry])
            for entry, signature in entries.items()
        },
        notes=tuple(Note(kind, text) for kind, text in table.notes),
        trust=trust,
    )


def _without_table(file: Path, stage: str, functions: dict[str, ir.OpView], trust: bool) -> IrFile:
    entries = {}
    for entry, function in functions.items():
        signature = signature_of_function(function)
        if any(argument.kind != "input" for argument in signature.arguments):
            raise Error(
                "source",
                f"{file} needs weights, but {table_file(file).name}, which lists where they are, "
                "is missing",
                hint="keep the files that `unmess import -o` writes together",
            )
        entries[entry] = signature
    return IrFile(
        path=file,
        name=file.stem,
        stage="raw" if stage == "torch" else stage,
        weight_mode="inline",
        weights={},
        entries=entries,
        recorded={entry: Recorded(str(file)) for entry in entries},
        trust=trust,
    )


def _check_function(
    file: Path, entry: str, signature: TorchSignature, function: ir.OpView | None
) -> None:
    """Raises an Error if a function does not match its signature."""
    own = None if function is None else signature_of_function(function)
    problem = f"it has no function {entry}" if own is None else _difference(entry, own, signature)
    if problem is not None:
        raise Error(
            "source",
            f"{file} does not match its table of weights: {problem}",
            hint="export the model again with `unmess import MODEL -o FILE`",
        )


def _difference(entry: str, own: TorchSignature, expected: TorchSignature) -> str | None:
    for what in ("arguments", "results"):
        mine, theirs = getattr(own, what), getattr(expected, what)
        if len(mine) != len(theirs):
            return f"{entry} has {len(mine)} {what} instead of {len(theirs)}"
        for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            if not _agree(one.spec, other.spec):
                return f"{what}[{index}] of {entry} is {one.spec}, not {other.spec}"
    return None


def _agree(one: object, other: object) -> bool:
    """Returns True if two specs are compatible.

    Not all stages keep the signedness of integers and the names of sizes, so these are ignored.
    """
    if not (isinstance(one, TensorSpec) and isinstance(other, TensorSpec)):
        return type(one) is type(other)
    sizes = [
        tuple(size if isinstance(size, int) else None for size in spec.shape)
        for spec in (one, other)
    ]
    return sizes[0] == sizes[1] and one.dtype.itemsize == other.dtype.itemsize
