"""Sorts of rows of every length and dtype, along every axis, on both runners."""

import pytest
import torch

import unmess

DTYPES = (torch.float64, torch.bfloat16, torch.int64, torch.int8, torch.bool)
# Lengths and dtypes.
ROWS = (
    *((length, torch.float32) for length in (2, 3, 8, 5000)),
    *((33, dtype) for dtype in DTYPES),
)


def _rows(length, dtype):
    """Returns rows along axis 1, with equal elements, NaN and infinities."""
    x = torch.randint(-20, 20, (2, length, 3)).to(dtype)
    if dtype.is_floating_point:
        x[0, length // 2] = torch.tensor([float("nan"), float("inf"), -float("inf")])
    return x


def _sorts(*tensors):
    """Sorts rows along the second, the last and the first axis."""
    results = []
    for x in tensors:
        results.append(torch.sort(x, dim=1, stable=True))
        results.append(torch.sort(x[:, :, 1], dim=-1, descending=True, stable=True))
        results.append(torch.argsort(x[1] + x[0], dim=0, stable=True))
        results.append((x == x).sort(dim=1, stable=True))
    return results


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_sorts(runner, is_dynamic):
    args = tuple(_rows(length, dtype) for length, dtype in ROWS)
    sizes = (({1: torch.export.Dim.DYNAMIC},) * len(args),) if is_dynamic else None
    program = unmess.capture(_sorts, args, dynamic_shapes=sizes)
    report = unmess.check(program, on=runner, calls=1)
    assert report.ok, report.error
