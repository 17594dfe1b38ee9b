import pytest
import torch

from unmess.core.errors.error import Error
from unmess.probe.finding import find_operator
from unmess.probe.trying import example_arguments

aten = torch.ops.aten


@pytest.mark.parametrize(
    "overload",
    [
        aten.add.Tensor,
        aten.mm.default,
        aten.bmm.default,
        aten.convolution.default,
        aten.softmax.int,
        aten.cat.default,
        aten.permute.default,
        aten.embedding.default,
        aten.index.Tensor,
        aten.where.self,
        aten.native_layer_norm.default,
        aten.full.default,
        aten.max_pool2d_with_indices.default,
    ],
    ids=str,
)
def test_common_operators_accept_their_example_arguments(overload):
    args, kwargs = example_arguments(overload, torch.float32)
    overload(*args, **kwargs)


def test_unsupported_dtype_has_no_example_arguments():
    assert example_arguments(aten.bitwise_and.Tensor, torch.float32) is None


@pytest.mark.parametrize(
    ("name", "overload"),
    [
        ("aten::add.Tensor", aten.add.Tensor),
        ("aten.add.Scalar", aten.add.Scalar),
        ("aten::add", aten.add.Tensor),
        ("torch.ops.aten.relu.default", aten.relu.default),
    ],
)
def test_names(name, overload):
    assert find_operator(name) is overload


@pytest.mark.parametrize("name", ["aten::ad.Tensor", "aten::add.Tensr", "softmx"])
def test_unknown_names_have_near_matches(name):
    with pytest.raises(Error, match="there is no operator") as caught:
        find_operator(name)
    assert "aten::" in caught.value.hint
    assert caught.value.exit_status == 2
