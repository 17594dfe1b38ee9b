"""Tests reshapes with symbolic sizes: how dimensions are grouped, and that elements are kept."""

import pytest
import sympy
import torch

import unmess
from importers.repairs.reshape import Group, group_dimensions, split_symbolic_views

b, s, h = sympy.symbols("b s h", integer=True, positive=True)


def groups(before, after):
    return [
        (before[g.before[0] : g.before[1]], after[g.after[0] : g.after[1]])
        for g in group_dimensions([*map(sympy.sympify, before)], [*map(sympy.sympify, after)])
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([b, s], [b, s], [([b], [b]), ([s], [s])]),
        ([b, s, 16], [b * s, 16], [([b, s], [b * s]), ([16], [16])]),
        ([b, s, 4, 4], [b * s, 16], [([b, s], [b * s]), ([4, 4], [16])]),
        ([s, b, 16], [s, 4 * b, 4], [([s], [s]), ([b, 16], [4 * b, 4])]),
        ([s, 4 * b, 4], [s, b, 16], [([s], [s]), ([4 * b, 4], [b, 16])]),
        ([4 * b, s, s], [b, 4, s, s], [([4 * b], [b, 4]), ([s], [s]), ([s], [s])]),
        ([b, s], [b, 1, s], [([b], [b]), ([s], [1, s])]),
        ([b, 1, s, 1, 1], [b, s], [([b], [b]), ([1, s, 1, 1], [s])]),
        ([b, s], [s, b], [([b, s], [s, b])]),
        ([b, s // 2, 2], [b, h], [([b], [b]), ([s // 2, 2], [h])]),
        ([3, 8], [2, 12], [([3, 8], [2, 12])]),
    ],
)
def test_groups(before, after, expected):
    assert groups(before, after) == expected


def test_every_dimension_is_in_one_group():
    found = group_dimensions([b, s, sympy.Integer(1)], [b * s, sympy.Integer(1)])
    assert found == [Group((0, 2), (0, 1)), Group((2, 3), (1, 2))]


def test_static_views_are_not_changed():
    graph = (
        torch.export.export(torch.nn.Flatten(0), (torch.ones(2, 3),), strict=False)
        .run_decompositions({})
        .graph
    )
    assert split_symbolic_views(graph) == 0


def test_a_result_keeps_its_name_and_its_source_line():
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length")

    def function(x):
        return x.reshape(x.shape[0] * x.shape[1], -1), x.reshape(x.shape)

    x = torch.randn(2, 3, 4)
    program = unmess.capture(function, (x,), dynamic_shapes=({0: batch, 1: length},))
    assert any("symbolic view" in note.text for note in program.notes)
    flat = next(n for n in program.exported.graph.nodes if "flatten" in str(n.target))
    assert flat.name == program.exported.graph_signature.user_outputs[0]
    assert "test_symbolic_views" in flat.meta["stack_trace"]
    y = torch.randn(5, 7, 4)
    for ours, theirs in zip(program.exported.module()(y), function(y), strict=True):
        assert torch.equal(ours, theirs)


def test_view_with_the_same_shape_keeps_the_input_name():
    """GPT-2 begins with `input_ids.view(-1, input_ids.shape[-1])`."""
    length = torch.export.Dim("length")
    program = unmess.capture(
        lambda ids: ids.view(-1, ids.shape[-1]) + 1,
        (torch.ones(2, 3),),
        dynamic_shapes=({1: length},),
    )
    assert any("symbolic view" in note.text for note in program.notes)
    assert [leaf.name for leaf in program.signature.inputs] == ["ids"]
