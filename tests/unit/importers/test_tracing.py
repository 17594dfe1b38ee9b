"""Tests the state in which decompositions are traced."""

import contextlib

import torch
from torch._subclasses.fake_impls import op_implementations_dict
from torch.export.exported_program import _split_decomp_table_to_cia_and_python_decomp

from importers.capture.fake_kernels import corrected_fake_kernels
from importers.decompositions import decomposition_table
from importers.decompositions import tracing as tracing_module
from importers.decompositions.tracing import trace, tracing

ATEN = torch.ops.aten
FINITE = ATEN.isfinite.default


def traced(table):
    """Returns the operators that `isfinite` decomposes to with `table`."""
    with tracing(torch.fx.Graph(), table) as python:
        result = trace(torch.isfinite, [torch.empty(3)], python)
    return [node.target for node in result.nodes if node.op == "call_function"]


def test_composite_operator_uses_the_current_table():
    table = decomposition_table()
    rest = {operator: table[operator] for operator in table if operator != FINITE}
    for _ in range(2):
        assert traced({**table, FINITE: torch.sin}) == [ATEN.sin.default]
        assert traced({**table, FINITE: torch.cos}) == [ATEN.cos.default]
        assert traced(rest) == [FINITE]


def test_a_composite_kernel_that_is_registered_later_is_decomposed():
    with torch.library._scoped_library("unmess_later", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        operator = torch.ops.unmess_later.twice.default
        traced(decomposition_table())
        library.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
        with tracing(torch.fx.Graph(), decomposition_table()) as python:
            graph = trace(operator, [torch.empty(3)], python)
    assert [node.target for node in graph.nodes if node.op == "call_function"] == [ATEN.add.Tensor]


def test_equal_tables_register_nothing_twice(monkeypatch):
    with corrected_fake_kernels():
        traced(decomposition_table())
    repeated = []

    def override(new):
        repeated.extend(new)
        return contextlib.nullcontext()

    monkeypatch.setattr(tracing_module, "_override_composite_implicit_decomp", override)
    with corrected_fake_kernels():
        traced(decomposition_table())
    assert not repeated


def test_nothing_stays_registered():
    traced(decomposition_table())
    kernels, fake = dict(FINITE.py_kernels), set(op_implementations_dict)
    traced(decomposition_table())
    assert kernels == FINITE.py_kernels
    assert fake == set(op_implementations_dict)
    assert torch._C.DispatchKey.AutogradCPU not in FINITE.py_kernels


def test_the_table_is_split_as_pytorch_does():
    table = decomposition_table()
    _composite, python = _split_decomp_table_to_cia_and_python_decomp(dict(table))
    with tracing(torch.fx.Graph(), table) as ours:
        assert ours == python
