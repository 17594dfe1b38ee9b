"""Writes captured programs to entries of the cache, and reads them back."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.ir_file import IrFile, IrProgram
from unmess.core.cache.folder import say
from unmess.core.errors.error import Error
from unmess.core.files.reading import described
from unmess.core.module.example import record, recorded
from unmess.core.module.module import Module
from unmess.core.module.tensors import read_tensors, write_tensors
from unmess.core.processes.current_stage import enter_stage
from unmess.core.program.note import Note
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs
from unmess.core.signature.paths import paths_of
from unmess.core.signature.serialized import form_of, signature_of
from unmess.core.signature.torch_signature import TorchSignature
from unmess.program_cache.entry import (
    EXAMPLE,
    IR,
    WEIGHTS,
    Entry,
    entry_in,
    make_room,
    programs_folder,
    programs_limit,
    publish,
    unfinished,
    write_about,
)
from unmess.program_cache.request import Request
from unmess.program_cache.weights import in_files, map_tensors


class Unkept(Exception):
    """The program cannot be cached; the text is the reason."""


def keep(
    request: Request,
    program: Program | Programs,
    dependencies: Mapping[str, Any],
    *,
    results: bool,
    more: Mapping[str, Any],
    files: Mapping[str, bytes],
) -> Entry:
    """Writes a program to the cache, completely or not at all.

    Args:
        dependencies: the result of `Watch.dependencies`.
        results: whether to run eager on the example call and record its results.
        more: further data for the entry, as JSON.
        files: small files for the entry, by name.

    Returns:
        The entry, from which `read` can read the program.

    Raises:
        Unkept: the program cannot be stored as files, or there is no room.
        Error: stage `import`.
    """
    enter_stage("import")
    module, parts = program.to_module(), program.entries
    about = _about(module, parts)
    tensors = dict(program.weights)
    _check_memory(module, tensors)
    places = in_files(tensors, dependencies["files"])
    rest = {name: tensor for name, tensor in tensors.items() if name not in places}
    size, limit = sum(tensor.nbytes for tensor in rest.values()), programs_limit()
    if size > limit:
        raise Unkept(f"its weights take {size >> 20} MiB, more than UNMESS_PROGRAMS_MB")
    example, numbers, failures = record(parts, results=results)
    if failures:
        raise Unkept(next(iter(failures.values())))
    place = programs_folder() / request.key()
    try:
        with unfinished(place.parent) as scratch:
            with (scratch / IR).open("wb") as file:
                module.ir.operation.write_bytecode(file)
            if rest:
                write_tensors(scratch / WEIGHTS, rest)
            if example:
                write_tensors(scratch / EXAMPLE, example)
            for name, content in files.items():
                (scratch / name).write_bytes(content)
            names = [path.name for path in scratch.iterdir()]
            about |= {
                "made": time.time(),
                "model": request.model,
                "request": str(request),
                "name": module.name,
                "dependencies": dict(dependencies),
                "digest": module.digest(),
                "weights": places,
                "numbers": numbers,
                "results": results,
                "files": described(scratch, names),
                **more,
            }
            write_about(scratch, about)
            _take_over(place, scratch, about)
            publish(scratch, place)
        make_room(sum(file["bytes"] for file in about["files"].values()))
    except OSError as problem:
        say(f"cannot store the captured program in {place.parent}: {problem.strerror or problem}")
        raise Unkept("cannot write the cache") from problem
    return Entry(place, about)


def _take_over(place: Path, scratch: Path, about: Mapping[str, Any]) -> None:
    """Moves derived folders, such as bundles, from an older entry of the same program."""
    older = entry_in(place)
    same = ("digest", "weights", "entries")
    if older is None or any(
        older.about[name] != json.loads(json.dumps(about[name])) for name in same
    ):
        return
    if older.about["files"].get(WEIGHTS) != about["files"].get(WEIGHTS):
        return
    for folder in (path for path in place.iterdir() if path.is_dir()):
        # Another process may do the same.
        with contextlib.suppress(OSError):
            folder.rename(scratch / folder.name)


def read(entry: Entry) -> IrProgram | Programs:
    """Reads the program of an entry: IR, weights, signature, example call, notes.

    Raises:
        OSError: a file of the entry, or of weights, cannot be read.
    """
    start = time.perf_counter()
    about, folder = entry.about, entry.folder
    weights = read_tensors(folder / WEIGHTS) if WEIGHTS in about["files"] else {}
    weights |= map_tensors(about["weights"])
    example = read_tensors(folder / EXAMPLE) if EXAMPLE in about["files"] else {}
    signatures = {name: signature_of(part["signature"]) for name, part in about["entries"].items()}
    calls = {
        name: recorded(signature, name, str(folder), example, about["numbers"][name])
        for name, signature in signatures.items()
    }
    notes = tuple(Note(*note) for note in about["notes"])
    file = IrFile(
        path=folder / IR,
        name=about["name"],
        stage="raw",
        weight_mode="external",
        weights=weights,
        entries=signatures,
        recorded=calls,
        notes=notes,
        digest=about["digest"],
    )
    parts = {}
    for name, part in about["entries"].items():
        args, kwargs = calls[name].call
        parts[name] = IrProgram(
            name=part["name"],
            signature=signatures[name],
            weights={each: weights[each] for each in part["weights"]},
            tied=part["tied"],
            eager=calls[name],
            args=args,
            kwargs=kwargs,
            notes=tuple(Note(*note) for note in part["notes"]),
            file=file,
            captured_by=part["strategy"],
            entry=name,
        )
    first = next(iter(parts.values()))
    first.seconds["capture"] = time.perf_counter() - start
    if not about["several"]:
        return first
    return Programs(about["name"], parts, tuple(Note(*note) for note in about["source_notes"]))


def _about(module: Module, parts: Mapping[str, Program]) -> dict[str, Any]:
    several = isinstance(module.program, Programs)
    try:
        entries = {
            name: {
                "name": part.name,
                "signature": form_of(module.entries[name]),
                "weights": list(part.weights),
                "tied": dict(part.tied),
                "notes": _plain(part.notes),
                "strategy": part.strategy,
                "paths": _paths(module.entries[name]),
            }
            for name, part in parts.items()
        }
    except Error as problem:
        raise Unkept(problem.cause) from problem
    signatures = module.entries.values()
    return {
        "entries": entries,
        "several": several,
        "notes": _plain(module.notes),
        "source_notes": _plain(module.program.source_notes) if several else [],
        "own_containers": all(map(_is_faithful, signatures)),
        "assembled": any(signature.restore is not None for signature in signatures),
    }


def _plain(notes: tuple[Note, ...]) -> list[list[str]]:
    return [[note.kind, note.text] for note in notes]


def _paths(signature: TorchSignature) -> list[str]:
    """Returns the path of each leaf in the model's own result, as `unmess run` shows it."""
    return [f"result{pytree.keystr(path)}" for path in paths_of(signature.out_spec)]


def _is_faithful(signature: TorchSignature) -> bool:
    """Returns whether a signature read from a file has the model's own containers."""
    # Weights and state do not affect the containers.
    again = signature_of(form_of(replace(signature, arguments=())))
    return again.in_spec == signature.in_spec and again.out_spec == signature.out_spec


def _check_memory(module: Module, tensors: Mapping[str, torch.Tensor]) -> None:
    """Raises Unkept if a file cannot represent the memory of the weights."""
    state = {a.name for signature in module.entries.values() for a in signature.of_kind("state")}
    memory: dict[int, str] = {}
    for name, tensor in tensors.items():
        try:
            address = tensor.untyped_storage().data_ptr()
        except (NotImplementedError, RuntimeError):
            raise Unkept(f"{name} has no memory of its own") from None
        other = memory.setdefault(address, name)
        if address and other != name and {name, other} & state:
            raise Unkept(f"{name} shares memory with {other}, and the model changes it")
