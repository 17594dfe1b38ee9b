"""Folds constants of captured programs: subgraphs of weights, and scales after products."""

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
from importers.repairs.constants import unused_constants
from importers.repairs.signature import with_fitting_signature
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
    new = len(weights.keys() - program.weights.keys())
    note = Note(
        "folded",
        f"{scales} convolutions and matrix products include the scales and shifts after them; "
        f"{new} weights are computed once and do not follow later changes of the model's weights",
    )
    return replace(
        program,
        exported=exported,
        signature=replace(program.signature, arguments=arguments),
        weights=weights,
        tied=tied,
        notes=(*program.notes, note),
        seconds={**program.seconds, "fold": time.perf_counter() - start},
    )


def _copied(exported: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Returns a program with a copy of the graph, and the same weights."""
    module = copy.deepcopy(exported.graph_module)
    for old, new in zip(exported.graph.nodes, module.graph.nodes, strict=True):
        # A copy of a node that has the name of a Python function, such as `input`, gets another.
        new.name = old.name
    with warnings.catch_warnings():
        # PyTorch causes this warning when it copies pytree specs.
        warnings.filterwarnings("ignore", category=FutureWarning, module="copyreg")
        return exported._update(module, exported.graph_signature)
