"""Folds constants of captured programs: subgraphs of weights, and scales after products.

Also unpacks packed weights once, for runners that do not multiply with them.
"""

from __future__ import annotations

import copy
import time
import warnings
from dataclasses import replace

import torch

from importers.capture.signature import read_weights
from importers.captured_program import CapturedProgram
from importers.combine import combine
from importers.folding.constants import fold_constant_subgraphs
from importers.folding.scales import fold_scales
from importers.packed.names import is_packed
from importers.repairs.constants import unused_constants, with_fitting_signature
from unmess.core.errors.error import Error
from unmess.core.program.note import Note
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs
from unmess.core.signature.signature import Argument, TensorSpec


def fold_constants(program: Program | Programs) -> Program | Programs:
    """Returns a program in which constants are folded. Does not change `program`.

    Computes subgraphs that depend on weights only, such as weight norm, and folds per-channel
    scales and shifts, such as batch norm in evaluation mode, into the convolution or matrix product
    before them. The results are new weights with names of their own, whose name ends in `.folded`.
    State, which the model writes, is not constant.

    Raises:
        Error: stage `usage`, for a program without a graph: IR is not folded.
    """
    if isinstance(program, Programs):
        folded = combine(
            {entry: fold_constants(each) for entry, each in program.entries.items()}, program.name
        )
        folded.source_notes = program.source_notes
        return folded
    if not isinstance(program, CapturedProgram):
        raise Error(
            "usage",
            f"{program.name} is IR, whose constants cannot be folded",
            hint="fold the constants when you write the file from the model",
        )
    start = time.perf_counter()
    exported = _copied(program.exported)
    state = {argument.name for argument in program.signature.of_kind("state")}
    subgraphs = fold_constant_subgraphs(exported, state)
    scales = fold_scales(exported, state)
    if not subgraphs and not scales:
        return program
    folded = _with_new_weights(program, exported, state)
    new = len(folded.weights.keys() - program.weights.keys())
    note = Note(
        "folded",
        f"{scales} convolutions and matrix products include the scales and shifts after them; "
        f"{new} weights are computed once and do not follow later changes of the model's weights",
    )
    seconds = {**program.seconds, "fold": time.perf_counter() - start}
    return replace(folded, notes=(*program.notes, note), seconds=seconds)


def unpack_weights(program: CapturedProgram | Programs) -> CapturedProgram | Programs:
    """Returns a program whose packed matrices are computed once, as new weights in f32.

    Packed weights whose rows are read by computed indices, as those of an embedding, stay packed.
    Does not change `program`.
    """
    if isinstance(program, Programs):
        computed: dict[tuple[str, ...], torch.Tensor] = {}
        unpacked = {e: _unpacked(each, computed) for e, each in program.entries.items()}
        if all(each is program.entries[entry] for entry, each in unpacked.items()):
            return program
        combined = combine(unpacked, program.name)
        combined.source_notes = program.source_notes
        return combined
    return _unpacked(program, {})


def _unpacked(
    program: CapturedProgram, computed: dict[tuple[str, ...], torch.Tensor]
) -> CapturedProgram:
    if not any(is_packed(name) for name in program.weights):
        return program
    start = time.perf_counter()
    exported = _copied(program.exported)
    state = {argument.name for argument in program.signature.of_kind("state")}
    if not fold_constant_subgraphs(exported, state, computed):
        return program
    unpacked = _with_new_weights(program, exported, state)
    new = [unpacked.weights[name] for name in unpacked.weights.keys() - program.weights.keys()]
    size = sum(tensor.nbytes for tensor in new)
    note = Note("weights", f"packed weights are unpacked once, to {size / 1e6:,.0f} MB")
    seconds = {**program.seconds, "unpack": time.perf_counter() - start}
    return replace(unpacked, notes=(*program.notes, note), seconds=seconds)


def _with_new_weights(
    program: CapturedProgram, exported: torch.export.ExportedProgram, state: set[str]
) -> CapturedProgram:
    """Returns a program with another graph, and the weights that this graph reads."""
    exported.graph.eliminate_dead_code()
    for node in unused_constants(exported.graph):
        exported.graph.erase_node(node)
    exported = with_fitting_signature(exported)
    weights, tied = read_weights(exported)
    arguments = (
        *(argument for argument in program.signature.arguments if argument.kind == "input"),
        *(
            Argument(
                "state" if name in state else "weight",
                name,
                TensorSpec(tuple(tensor.shape), tensor.dtype),
            )
            for name, tensor in weights.items()
        ),
    )
    return replace(
        program,
        exported=exported,
        signature=replace(program.signature, arguments=arguments),
        weights=weights,
        tied=tied,
    )


def _copied(exported: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Returns a program with a copy of the graph, and the same weights."""
    module = copy.deepcopy(exported.graph_module)
    for old, new in zip(exported.graph.nodes, module.graph.nodes, strict=True):
        # The copy of a node named like a Python builtin, such as `input`, gets another name.
        new.name = old.name
    with warnings.catch_warnings():
        # PyTorch causes this warning when it copies pytree specs.
        warnings.filterwarnings("ignore", category=FutureWarning, module="copyreg")
        return exported._update(module, exported.graph_signature)
