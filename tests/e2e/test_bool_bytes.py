"""Bools stored as other bytes than 0 and 1 are true: in inputs, weights, state and bundles."""

import numpy as np
import pytest
import torch
from torch import nn

import unmess
import unmess.bundle
from unmess.packaging import package

BYTES = torch.tensor([2, 3, 0, 1, 128, 254], dtype=torch.uint8)
FLAGS = BYTES.ne(0)


def raw():
    return BYTES.clone().view(torch.bool)


class Flags(nn.Module):
    """Applies operators whose results could depend on the bytes of the flags."""

    def __init__(self, flags):
        super().__init__()
        self.register_buffer("weight", flags.clone())
        self.register_buffer("state", flags.clone())

    def forward(self, x):
        self.state.logical_not_()
        return [
            (
                flags.sum(),
                flags.to(torch.int32),
                flags.float() * 0.5,
                ~flags,
                flags | self.weight,
                flags ^ self.weight,
                flags == self.weight,
                flags.any(),
                flags.all(),
                torch.where(flags, 1.0, -1.0),
                torch.cumsum(flags, 0),
                torch.arange(2)[flags.long()],
            )
            for flags in (x, self.weight, self.state)
        ]


def same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        for ours, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


@pytest.fixture(scope="module")
def program():
    return unmess.capture(Flags(raw()), (FLAGS,))


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_on_runners(program, runner):
    run = unmess.load(program, on=runner)
    same(run(raw()), Flags(FLAGS)(FLAGS))
    run.state["state"] = raw()
    same(run(raw()[None].expand(3, 6).t()[:, 1]), Flags(FLAGS)(FLAGS))


def test_literals(program):
    module = unmess.lower(program, weights="inline")
    same(unmess.load(module)(raw()), Flags(FLAGS)(FLAGS))


def test_bundle(program, tmp_path):
    package(program, tmp_path / "flags")
    run = unmess.bundle.load(tmp_path / "flags")
    same(run(raw().numpy()), Flags(FLAGS)(FLAGS))
    run.reset()
    same(run(BYTES.numpy().repeat(2).view(np.bool_)[::2]), Flags(FLAGS)(FLAGS))
    with pytest.raises(unmess.Error, match="is a MaskedArray"):
        run(np.ma.masked_array(FLAGS.numpy(), BYTES.numpy() > 9))
