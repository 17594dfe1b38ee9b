"""Tests whether a graph lowers to an output dialect. Errors do not end the process."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch_mlir import ir
from torch_mlir._mlir_libs import _torchMlir as torch_d
from torch_mlir.extras import fx_importer

from importers.control_flow import ControlFlowImporter
from pipelines.lower import lower_ir
from unmess.core.errors.error import Error, first_line


@dataclass(frozen=True)
class Outcome:
    """The result of lowering a graph.

    Attributes:
        ok: whether it reached the output dialect.
        stage: where it stopped; None if it did not stop.
        cause: why it stopped, in one line; None if it did not stop.
        repro: path of a reproducer, if there is one.
    """

    ok: bool
    stage: str | None = None
    cause: str | None = None
    repro: str | None = None


def lowers(graph: torch.fx.Graph, to: str, name: str) -> Outcome:
    """Imports a graph whose inputs are all operands, and lowers it to an output dialect."""
    try:
        with _context(), ir.Location.unknown():
            importer = fx_importer.FxImporter(
                context=_context(), config_check=False, graph_node_importer_cls=ControlFlowImporter
            )
            importer.import_stateless_graph(graph, func_name="main")
            module = importer.module
            lower_ir(module, to, name)
    except Error as error:
        return Outcome(False, error.stage, error.cause, error.repro)
    except Exception as problem:
        return Outcome(False, "import", first_line(problem))
    return Outcome(True)


@functools.cache
def _context() -> ir.Context:
    """Returns one context for all graphs: creating one takes longer than lowering an operator."""
    context = ir.Context()
    torch_d.register_dialect(context)
    return context
