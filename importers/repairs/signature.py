"""Updates the signature of a program after its graph was rewritten."""

from __future__ import annotations

import warnings
from dataclasses import replace

import torch
from torch.export.graph_signature import ConstantArgument, ExportGraphSignature

from importers.repairs.constants import take_constants


def with_fitting_signature(
    exported: torch.export.ExportedProgram,
) -> torch.export.ExportedProgram:
    """Returns the program with added constants and current output names in its signature."""
    added = take_constants(exported.graph)
    signature = exported.graph_signature
    results = next(node for node in reversed(exported.graph.nodes) if node.op == "output").args[0]
    outputs = [
        spec
        if isinstance(spec.arg, ConstantArgument) or spec.arg.name == node.name
        else replace(spec, arg=replace(spec.arg, name=node.name))
        for spec, node in zip(signature.output_specs, results, strict=True)
    ]
    inputs = [*(spec for spec, _ in added), *signature.input_specs]
    constants = {**exported.constants, **{spec.target: tensor for spec, tensor in added}}
    with warnings.catch_warnings():
        # PyTorch's own code warns when it copies pytree specs.
        warnings.filterwarnings("ignore", category=FutureWarning, module="copyreg")
        return exported._update(
            exported.graph_module, ExportGraphSignature(inputs, outputs), constants=constants
        )
