"""Collects the configurations of one recipe. This is the code that runs in the worker."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.export.graph_signature import InputKind

from benchmarks.cliffs.configurations import Configuration, configuration_of
from benchmarks.cliffs.quantized import quantized_layers
from benchmarks.cliffs.store import Collected
from benchmarks.recurrent import LAYERS, STEPS

# Few recipes have recurrent layers, so the layers of benchmarks/recurrent.py are added.
_LAYER = "layer:"
EXTRA = tuple(f"{_LAYER}{name}@{steps}" for name, *_ in LAYERS for steps in STEPS)
_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def collect(model: str) -> Collected:
    """Returns the distinct configurations of a recipe, or its failure."""
    try:
        found = list(_configurations(model))
    except Exception as problem:
        lines = str(problem).splitlines() or [type(problem).__name__]
        return Collected(model, [], lines[0])
    distinct = {each.key: each for each in found}
    return Collected(model, [(each.operator, each.args) for each in distinct.values()])


def _configurations(model: str) -> Iterable[Configuration]:
    import unmess
    from importers.sources import find_source

    if model.startswith(_LAYER):
        called, args, kwargs = _layer(model.removeprefix(_LAYER))
    else:
        source = find_source(model)
        called, args, kwargs = source.model, source.args, source.kwargs
    layers = quantized_layers(called, args)
    # The graph of a quantized model has convolutions and products of floats that eager does not
    # compute.
    families = ("convolution", "product") if layers else ()
    program = unmess.capture(called, args, kwargs)
    found = _in_graph(program.undecomposed)
    return [*layers, *(each for each in found if each.family not in families)]


def _in_graph(exported: torch.export.ExportedProgram | None) -> Iterable[Configuration]:
    if exported is None:
        return
    specs = exported.graph_signature.input_specs
    names = {spec.arg.name for spec in specs if spec.kind in _WEIGHTS}
    weights: set[torch.fx.Node] = set()
    for node in exported.graph.nodes:
        if node.op == "placeholder" and node.name in names:
            weights.add(node)
        elif node.op == "call_function":
            if (configuration := configuration_of(node, weights)) is not None:
                yield configuration
            if node.all_input_nodes and weights.issuperset(node.all_input_nodes):
                weights.add(node)


def _layer(text: str) -> tuple[torch.nn.Module, tuple, dict]:
    name, _, steps = text.rpartition("@")
    (kind, options) = next(each[1:] for each in LAYERS if each[0] == name)
    return kind(64, 64, **options).eval(), (torch.randn(int(steps), 2, 64),), {}
