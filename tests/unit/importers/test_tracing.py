"""Tests the state in which decompositions are traced."""

import torch
from torch._subclasses.fake_impls import op_implementations_dict
from torch.export.exported_program import _split_decomp_table_to_cia_and_python_decomp

from importers.decompositions import decomposition_table
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
