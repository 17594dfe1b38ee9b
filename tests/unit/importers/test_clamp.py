"""Clamping with limits of another type than the tensor's promotes types as PyTorch does."""

import pytest
import torch

from importers.decompositions.comparison import clamp, clamp_max, clamp_min, hardtanh


@pytest.mark.parametrize(
    "function, operator, limits",
    [
        (clamp, torch.ops.aten.clamp.default, (0.5, 2)),
        (clamp, torch.ops.aten.clamp.default, (None, 1.5)),
        (clamp_min, torch.ops.aten.clamp_min.default, (1.5,)),
        (clamp_max, torch.ops.aten.clamp_max.default, (1.5,)),
    ],
)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_float_limits_promote_integers(function, operator, limits, dtype):
    x = torch.tensor([0, 1, 2, 3], dtype=dtype)
    torch.testing.assert_close(function(x, *limits), operator(x, *limits))


def test_nan_and_limits_in_the_wrong_order():
    x = torch.tensor([torch.nan, torch.inf, -1.0])
    torch.testing.assert_close(clamp(x, 2, 1), x.clamp(2, 1), equal_nan=True)


def test_hardtanh_keeps_integers():
    x = torch.tensor([-3, 0, 5])
    torch.testing.assert_close(hardtanh(x, -1.5, 2.5), torch.nn.functional.hardtanh(x, -1.5, 2.5))
