"""Compares the node-by-node decomposition with PyTorch's, and tests what it must reject."""

import collections

import pytest
import torch

from importers.capture.data_positions import DataPositions
from importers.capture.decompositions import _decompose_whole
from importers.capture.local_decompositions import NotLocal, decompose_locally
from importers.decompositions import decomposition_table


def export(model, *args, **options):
    module = model
    if not isinstance(model, torch.nn.Module):
        module = torch.nn.Module()
        module.forward = model
    return torch.export.export(module, args, strict=False, **options)


def operators(exported):
    return collections.Counter(
        str(node.target)
        for node in exported.graph.nodes
        if node.op == "call_function" and node.target is not torch.ops.aten.clone.default
    )


def block():
    return torch.nn.Sequential(
        torch.nn.Conv2d(4, 4, 3, padding=1),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(inplace=True),
        torch.nn.Dropout(),
        torch.nn.Hardswish(inplace=True),
    )


def test_same_operators_and_results_as_the_whole_decomposition():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        block(), block(), torch.nn.Flatten(), torch.nn.Linear(64, 8), torch.nn.LayerNorm(8)
    ).eval()
    x = torch.randn(2, 4, 4, 4)
    exported = export(model, x)
    local = decompose_locally(exported, decomposition_table())
    assert operators(local) == operators(_decompose_whole(exported, decomposition_table()))
    torch.testing.assert_close(local.module()(x), model(x))


def test_equal_layers_are_traced_once(monkeypatch):
    from importers.capture import local_decompositions

    calls = []
    real = local_decompositions.trace
    monkeypatch.setattr(local_decompositions, "trace", lambda f, *a: calls.append(f) or real(f, *a))
    exported = export(
        torch.nn.Sequential(*(block() for _ in range(5))).eval(), torch.ones(1, 4, 4, 4)
    )
    decompose_locally(exported, decomposition_table())
    assert 0 < len(calls) <= 6


def test_unused_slices_of_unknown_size_are_dropped():
    """`DataPositions` leaves them in an exported program, for `slice_scatter`."""

    class Insert(torch.nn.Module):
        def forward(self, x, rows, at):
            start = at.item()
            torch._check(start >= 0)
            torch._check(start + 2 <= 8)
            return x.slice_scatter(rows, 0, start, start + 2) * 2

    x, rows, at = torch.zeros(8, 3), torch.ones(2, 3), torch.tensor(5)
    with DataPositions():
        exported = export(Insert(), x, rows, at)
    assert any(not node.users and "slice.T" in str(node.target) for node in exported.graph.nodes)
    local = decompose_locally(exported, decomposition_table())
    torch.testing.assert_close(local.module()(x, rows, at), Insert()(x, rows, at))
    with pytest.raises(RuntimeError, match="Runtime assertion failed"):
        local.module()(x, rows, torch.tensor(7))


def test_operators_keep_their_source_line():
    exported = export(block().eval(), torch.randn(1, 4, 4, 4))
    local = decompose_locally(exported, decomposition_table())
    for node in local.graph.nodes:
        if node.op == "call_function":
            assert "torch/nn/modules" in node.meta["stack_trace"]


def test_later_uses_see_an_in_place_result():
    def function(x):
        y = x * 2
        z = y.add_(1)
        return y * z, y

    x = torch.randn(3)
    local = decompose_locally(export(function, x), decomposition_table())
    assert not any("add_" in name for name in operators(local))
    for ours, theirs in zip(local.module()(x), function(x), strict=True):
        assert torch.equal(ours, theirs)


def test_equal_arguments_of_different_types_are_not_merged():
    def function(x):
        return x + 1, x + 1.0, x.sum(0, True), x.sum(0, False)

    x = torch.tensor([1, 2])
    local = decompose_locally(export(function, x), decomposition_table())
    for ours, theirs in zip(local.module()(x), function(x), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert torch.equal(ours, theirs)


def mutated_view(x):
    y = x * 2
    view = y[0]
    y.add_(1)
    return view


def mutated_beside_view(x):
    y = x * 2
    column = y[:, 0]
    y[0].zero_()
    return column


def mutated_through_transpose(x):
    y = x * 2
    y.T[0].zero_()
    return y


def mutated_part_of_transposed_input(x):
    x.T[0].add_(1)
    return x * 2


@pytest.mark.parametrize(
    "function",
    [
        mutated_view,
        mutated_beside_view,
        mutated_through_transpose,
        mutated_part_of_transposed_input,
    ],
)
def test_other_mutations_raise_not_local(function):
    exported = export(function, torch.ones(2, 3))
    with pytest.raises(NotLocal, match="mutates"):
        decompose_locally(exported, decomposition_table())


class Symbolic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolutions = torch.nn.Sequential(block(), block())
        self.linear = torch.nn.Linear(4, 8)
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x):
        x = self.linear(self.convolutions(x).flatten(2).mT.contiguous())
        rows = torch.arange(x.shape[1], device=x.device)
        x = torch.where(rows[:, None] < x.shape[0], x, x.new_zeros(()))
        x = torch.nn.functional.scaled_dot_product_attention(x, x, x)
        return torch.cat([self.norm(x), x.reshape(x.shape[0], -1, 8)], dim=1), x.shape[1] * 2


@pytest.fixture(scope="module")
def symbolic():
    torch.manual_seed(0)
    batch, rows = torch.export.Dim("batch", min=2), torch.export.Dim("rows", min=2)
    x = torch.randn(2, 4, 5, 6)
    return export(Symbolic().eval(), x, dynamic_shapes=({0: batch, 2: rows},))


def test_symbolic_sizes_are_not_changed(symbolic):
    environment = next(iter(symbolic.graph.nodes)).meta["val"].fake_mode.shape_env
    known = len(environment.guards), dict(environment.replacements)
    local = decompose_locally(symbolic, decomposition_table())
    assert (len(environment.guards), dict(environment.replacements)) == known
    assert local.range_constraints == symbolic.range_constraints
    assert operators(local) == operators(_decompose_whole(symbolic, decomposition_table()))
    model = Symbolic().eval()
    model.load_state_dict(symbolic.state_dict)
    x = torch.randn(3, 4, 7, 6)
    torch.testing.assert_close(local.module()(x), model(x))


def test_one_node_for_each_symbolic_size(symbolic):
    local = decompose_locally(symbolic, decomposition_table())
    sizes = [
        node.meta["val"].node.expr
        for node in local.graph.nodes
        if node.op == "call_function" and isinstance(node.meta["val"], torch.SymInt)
    ]
    assert len(sizes) == len(set(sizes)) > 2


@pytest.mark.parametrize(
    "function", [lambda x: x.nonzero(), lambda x: x[x > 0], lambda x: torch.ones(x.sum().item())]
)
def test_data_dependent_sizes_raise_not_local(function):
    exported = export(function, torch.ones(3, dtype=torch.int64))
    with pytest.raises(NotLocal, match="depends on data"):
        decompose_locally(exported, decomposition_table())


class Buffers(torch.nn.Module):
    """Buffers that are read before and after they are written, also through an alias."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("last", torch.zeros(2))
        self.register_buffer("rows", torch.zeros(4, 2))
        self.register_buffer("kept", torch.ones(2))

    def forward(self, x):
        before = self.last.clone()
        place = self.steps.item()
        torch._check(place >= 0)
        torch._check(place < 4)
        rows = self.rows.slice_scatter(x[None], 0, place, place + 1)
        alias = self.last.to(torch.float32)
        alias.copy_(x)
        self.rows.copy_(rows)
        self.steps.add_(1)
        self.steps.mul_(1)
        return before, self.last + self.kept, self.rows.sum(0)


def test_mutated_buffers_become_outputs():
    exported = export(Buffers(), torch.ones(2))
    local = decompose_locally(exported, decomposition_table())
    whole = _decompose_whole(exported, decomposition_table())
    mutations = local.graph_signature.buffers_to_mutate
    assert list(mutations.values()) == list(whole.graph_signature.buffers_to_mutate.values())
    module, eager = local.module(), Buffers()
    for _ in range(3):
        x = torch.randn(2)
        for ours, theirs in zip(module(x), eager(x), strict=True):
            assert torch.equal(ours, theirs)
        for name, buffer in eager.named_buffers():
            assert torch.equal(getattr(module, name), buffer)


def test_a_mutated_input_becomes_an_output():
    def function(x, y):
        x.add_(y)
        return x * 2

    local = decompose_locally(export(function, torch.ones(3), torch.ones(3)), decomposition_table())
    assert list(local.graph_signature.user_inputs_to_mutate.values()) == ["x"]
    ours, theirs = torch.arange(3.0), torch.arange(3.0)
    assert torch.equal(local.module()(ours, torch.ones(3)), function(theirs, torch.ones(3)))
    assert torch.equal(ours, theirs)


def test_mutated_part_of_a_buffer_raises_not_local():
    class Part(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("rows", torch.zeros(4, 2))

        def forward(self, x):
            self.rows.T[0].add_(x)
            return self.rows * 2

    with pytest.raises(NotLocal, match="a part of"):
        decompose_locally(export(Part(), torch.ones(4)), decomposition_table())


def regions(x):
    """Numbers the regions of an image, as windowed attention does."""
    image = x.new_zeros(x.shape)
    number = 0
    for rows in (slice(0, -2), slice(-2, -1), slice(-1, None)):
        for columns in (slice(0, -1), slice(-1, None)):
            image[rows, columns] = number
            number += 1
    return image


def nested_parts(x):
    y = x * 2
    row = y[1]
    row[1:3].mul_(y[0, 0])
    again = y[1]
    again[0] = 7.0
    # The result of an in-place operator is the same part of the tensor.
    row.add_(1).sub_(y[2])
    return y + 1, row[::2], again, y[:, ::2]


def part_of_input(x):
    x[0].add_(x[1])
    x[1:, 0] = x[0, 1]
    return x * 2


@pytest.mark.parametrize("function", [regions, nested_parts, part_of_input])
@pytest.mark.parametrize("dynamic", [False, True])
def test_mutated_parts(function, dynamic):
    shapes = ({0: torch.export.Dim("rows", min=4)},) if dynamic else None
    exported = export(function, torch.ones(5, 4), dynamic_shapes=shapes)
    local = decompose_locally(exported, decomposition_table())
    assert not any("_." in name for name in operators(local))
    whole = _decompose_whole(exported, decomposition_table())
    assert len(local.graph.nodes) <= len(whole.graph.nodes)
    inputs = [torch.randn(5, 4), torch.randn(7, 4)] if dynamic else [torch.randn(5, 4)]
    for x in inputs:
        ours, theirs = x.clone(), x.clone()
        torch.testing.assert_close(local.module()(ours), function(theirs))
        assert torch.equal(ours, theirs)


def test_mutated_part_of_a_buffer_is_an_output():
    class Rows(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("rows", torch.zeros(4, 2))

        def forward(self, x):
            self.rows[1:3].add_(x)
            return self.rows * 2

    local = decompose_locally(export(Rows(), torch.ones(2)), decomposition_table())
    assert list(local.graph_signature.buffers_to_mutate.values()) == ["rows"]
    module, eager = local.module(), Rows()
    for _ in range(2):
        assert torch.equal(module(torch.ones(2)), eager(torch.ones(2)))
        assert torch.equal(module.rows, eager.rows)


def test_tensors_that_the_model_creates():
    """Export calls `detach_` for each of them."""

    def function(x):
        return x[[2, 0]] * torch.tensor([1.0, 2.0, 3.0])

    x = torch.randn(3, 3)
    exported = export(function, x)
    assert any("detach_" in name for name in operators(exported))
    local = decompose_locally(exported, decomposition_table())
    assert not any("detach_" in name for name in operators(local))
    assert torch.equal(local.module()(x), function(x))


def test_pooling_of_channels_last():
    """PyTorch's decomposition sets the layout of its result in place."""
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    exported = export(torch.nn.AdaptiveAvgPool2d(1), x)
    local = decompose_locally(exported, decomposition_table())
    assert operators(local) == operators(_decompose_whole(exported, decomposition_table()))
    torch.testing.assert_close(local.module()(x), torch.nn.functional.adaptive_avg_pool2d(x, 1))


class Region(torch.nn.Module):
    """Computes like a rotary embedding: without gradients, and in float32."""

    def forward(self, x):
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            angle = torch.nn.functional.softplus(x.float())
            with torch.enable_grad():
                sine, cosine = angle.sin(), angle.cos()
        return torch.nn.functional.gelu(x) * sine, cosine


def test_no_grad_regions_are_inlined_into_the_graph():
    x = torch.randn(2, 3)
    exported = export(Region(), x)
    assert any("wrap_with" in str(node.target) for node in exported.graph.nodes)
    local = decompose_locally(exported, decomposition_table())
    assert operators(local) == operators(_decompose_whole(exported, decomposition_table()))
    torch.testing.assert_close(local.module()(x), Region()(x))


class LowPrecision(torch.nn.Module):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ x


def test_autocast_region_raises_not_local():
    exported = export(LowPrecision(), torch.ones(2, 2))
    with pytest.raises(NotLocal):
        decompose_locally(exported, decomposition_table())
    # Without the error, this enabled autocast region would be lost silently.
    (region,) = (node for node in exported.graph.nodes if "wrap_with_autocast" in str(node.target))
    assert region.args[2] is True


class InPlace(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        with torch.no_grad():
            y.add_(1)
        return y


def test_in_place_operator_in_a_region_raises_not_local():
    exported = export(InPlace(), torch.ones(2))
    if not any("wrap_with" in str(node.target) for node in exported.graph.nodes):
        pytest.fail("this PyTorch exports no region here: the test does not test anything")
    with pytest.raises(NotLocal, match="region"):
        decompose_locally(exported, decomposition_table())


def test_functional_forms_have_the_parameters_of_the_in_place_operators():
    """An overload of the same name may differ: `pow.Scalar` is the power of a number."""

    def in_place(x, exponent):
        x = x + 1
        return x.pow_(-0.5), x.clone().pow_(exponent), x.clone().ldexp_(exponent).floor_divide_(x)

    x, exponent = torch.tensor([1.0, 2.5, 8.0]), torch.tensor([2, -1, 3])
    exported = export(in_place, x, exponent)
    local = decompose_locally(exported, decomposition_table())
    torch.testing.assert_close(local.module()(x, exponent), in_place(x, exponent))
