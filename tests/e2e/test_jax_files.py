"""Tests of programs written by JAX, on both runners, compared with JAX's own results.

tools/jax_files.py writes the files. `UNMESS_JAX_FILES` names another folder to test instead, such
as one with the files of a newer JAX.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

import unmess

RUNNERS = ("reference", "iree-cpu")
FOLDER = Path(os.environ.get("UNMESS_JAX_FILES") or Path(__file__).with_name("jax_files"))
NAMES = sorted(path.stem for path in FOLDER.glob("*.npz"))
TOLERANCE = {torch.bfloat16: 2**-6, torch.float32: 1e-5}


def path_of(name):
    (path,) = (path for path in FOLDER.glob(f"{name}.*") if path.suffix != ".npz")
    return str(path)


def tensors(name, kind):
    """Returns the inputs or results of a program, in order."""
    arrays = np.load(FOLDER / f"{name}.npz")
    found = {}
    for key in arrays.files:
        if key.startswith(kind):
            number, _, dtype = key.removeprefix(kind).partition(".")
            tensor = torch.from_numpy(arrays[key])
            found[int(number)] = tensor.view(torch.bfloat16) if dtype else tensor
    return [found[number] for number in range(len(found))]


def assert_equal(actual, expected, tolerance):
    actual = actual if isinstance(actual, tuple) else (actual,)
    assert len(actual) == len(expected)
    for index, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
        assert ours.dtype == theirs.dtype
        near = tolerance if theirs.is_floating_point() else 0
        torch.testing.assert_close(ours, theirs, rtol=near, atol=near, equal_nan=True)
        # `assert_close` ignores the sign of zeros.
        if theirs.is_floating_point():
            zeros = (theirs == 0) & (ours == 0)
            assert torch.equal(ours.signbit()[zeros], theirs.signbit()[zeros]), index


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("name", NAMES)
def test_program_matches_jax(name, runner):
    args, expected = tensors(name, "arg"), tensors(name, "result")
    # Results computed from bf16 have the precision of bf16, whatever their dtype is.
    tolerance = max(TOLERANCE.get(tensor.dtype, 0) for tensor in (*args, *expected))
    run = unmess.load(path_of(name), on=runner)
    assert_equal(run(*args), expected, tolerance)


@pytest.mark.parametrize("runner", RUNNERS)
def test_dynamic_sizes_are_checked(runner):
    run = unmess.load(path_of("dynamic_attention"), on=runner)
    for shape in ((1, 1), (3, 7)):
        x, w = torch.randn(*shape, 8), torch.randn(8, 24)
        q, k, v = ((x @ w).view(*shape, 3, 2, 4)[:, :, i].transpose(1, 2) for i in range(3))
        expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        torch.testing.assert_close(run(x, w), expected.transpose(1, 2).reshape(*shape, 8))
    # The assertion and its message come from JAX.
    with pytest.raises(unmess.Error, match="Expected value >= 1 for dimension variable 'b'"):
        run(torch.randn(0, 2, 8), torch.randn(8, 24))
    # Two inputs must have the same size. Here it is 5 and 4.
    run = unmess.load(path_of("dynamic_indexing"), on=runner)
    with pytest.raises(unmess.Error, match="check in the program failed"):
        run(torch.randn(5, 3), torch.randn(4), torch.zeros(4, dtype=torch.int32))
