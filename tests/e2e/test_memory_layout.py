"""`as_strided` reads memory: results are eager's, and calls with other strides are refused."""

import numpy as np
import pytest
import torch

import unmess
import unmess.bundle
from unmess.packaging import package

ROWS = torch.arange(24.0).reshape(4, 6)
IMAGES = torch.arange(120.0).reshape(2, 3, 4, 5).to(memory_format=torch.channels_last)
CASES = {
    "rows": (lambda x: x.as_strided((3, 2, 2), (4, 1, 2), 1) + 0, ROWS),
    "same layout": (lambda x: x.as_strided(x.shape, x.stride()) + 0, ROWS),
    "view of rows": (lambda x: x[1:, 2].as_strided((3,), (6,)) + 0, ROWS),
    "place in memory": (lambda x: x[1:, 2].as_strided((3,), (6,), 1) + 0, ROWS),
    "transposed view": (lambda x: x.t().as_strided((2, 2), (1, 3)) + 0, ROWS),
    "columns": (lambda x: x[:, 1:3].as_strided((2, 2), (4, 5)) + 0, ROWS),
    "beyond a view": (lambda x: x[:1].as_strided((3, 2), (6, 1), 9) + 0, ROWS),
    "computed view": (lambda x: (x * 2)[2:].as_strided((2, 2), (1, 1), 3) + 0, ROWS),
    "diagonal": (lambda x: x[:, :4].diagonal().as_strided((2, 2), (3, 1)) + 0, ROWS),
    "transposed": (lambda x: x.as_strided((3, 2), (1, 4)) + 0, ROWS.t()),
    "copy": (lambda x: torch.as_strided_copy(x, (3, 2), (1, 4)), ROWS.t()),
    "channels last": (lambda x: x.as_strided((5, 7), (3, 2), 4) + 0, IMAGES),
    "computed": (lambda x: torch.relu(x - 9).as_strided((5, 7), (3, 2), 4) + 0, IMAGES),
    "expanded": (lambda x: x.as_strided((2, 3), (0, 1)) + 0, ROWS[:1].expand(4, 6)),
    "expanded view": (lambda x: x[:1].expand(4, 6).as_strided((2, 3), (0, 1)) + 0, ROWS),
}


class Model(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.function = CASES[name][0]

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("name", CASES)
def test_result_and_strides(name):
    function, x = CASES[name]
    run = unmess.load(unmess.capture(function, (x,)))
    other = x * 2
    if other.stride() == x.stride():
        assert torch.equal(run(other), function(other))
    assert torch.equal(run(x), function(x))
    # Eager's result depends on the order in memory, so another order must be an error.
    last_first = x.permute(*reversed(range(x.ndim))).contiguous()
    moved = last_first.permute(*reversed(range(x.ndim)))
    if moved.stride() == x.stride():
        moved = x.clone(memory_format=torch.contiguous_format)
    with pytest.raises(unmess.Error, match=r"x has strides .*, expected .* as_strided"):
        run(moved)


def test_begin_in_memory():
    run = unmess.load(unmess.capture(CASES["rows"][0], (ROWS,)))
    with pytest.raises(unmess.Error, match="x begins at element 6 of its memory, expected 0"):
        run(torch.arange(30.0).reshape(5, 6)[1:])


def test_elements_outside_the_tensor_are_not_lowered():
    every_second = ROWS[:, ::2]
    program = unmess.capture(lambda x: x.as_strided((2, 2), (6, 1)) + 0, (every_second,))
    with pytest.raises(unmess.Error, match=r"aten\.as_strided"):
        unmess.load(program)


def test_inputs_that_it_does_not_depend_on_may_have_any_strides():
    def function(x, y, weight):
        return x.as_strided((3, 2), (1, 4)) + y, torch.mm(y, weight).as_strided((2,), (1,))

    y, weight = torch.ones(3, 2), torch.rand(2, 2)
    run = unmess.load(unmess.capture(function, (ROWS, y, weight)))
    for result, wanted in zip(
        run(ROWS, y.t().contiguous().t(), weight.t()),
        function(ROWS, y.t().contiguous().t(), weight.t()),
        strict=True,
    ):
        torch.testing.assert_close(result, wanted)


@pytest.mark.parametrize("name", ["channels last", "expanded"])
def test_files(name, tmp_path):
    model, (function, x) = Model(name).eval(), CASES[name]
    program = unmess.capture(model, (x,))
    unmess.lower(program, to="torch").save(tmp_path / "model.mlir")
    again = unmess.load(str(tmp_path / "model.mlir"))
    assert unmess.check(str(tmp_path / "model.mlir"), on="reference").ok
    package(program, tmp_path / "bundle")
    bundle = unmess.bundle.load(tmp_path / "bundle")
    assert np.array_equal(bundle(x.numpy()), function(x).numpy())
    for run, moved in ((again, x.contiguous()), (bundle, x.contiguous().numpy())):
        with pytest.raises(unmess.Error, match="x has strides"):
            run(moved)
