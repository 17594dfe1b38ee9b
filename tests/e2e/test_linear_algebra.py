"""Tests of matrix factorizations as loops: hard matrices, errors, unsupported cases."""

import pytest
import torch

import unmess
from importers.decompositions.linear_algebra.eigenvalues import eigh
from importers.decompositions.linear_algebra.lu import solve
from importers.decompositions.linear_algebra.singular_values import svd

SIZE = 64


def _hard_matrices():
    """Returns hard 64 x 64 matrices by name. The orthogonal one has equal singular values."""
    torch.manual_seed(0)
    random = torch.randn(SIZE, SIZE)
    grades = torch.logspace(0, -12, SIZE)
    orthogonal = torch.linalg.qr(random).Q
    return {
        "random": random,
        "rank 3": random[:, :3] @ random[:3],
        "equal elements": torch.ones(SIZE, SIZE),
        "graded": random * grades,
        "large": random * 1e30,
        "small": random * 1e-30,
        "orthogonal": orthogonal,
        "zero": torch.zeros(SIZE, SIZE),
    }


def _distance(x, y):
    scale = y.abs().amax().clamp(min=torch.finfo(y.dtype).tiny)
    return float(((x / scale).double() - (y / scale).double()).abs().amax())


# Runs the decompositions in eager mode. A capture records the same loops.
@pytest.mark.parametrize("name", _hard_matrices())
def test_singular_values_of_hard_matrices(name):
    a = _hard_matrices()[name]
    u, values, v = svd(a)
    one = torch.eye(SIZE)
    assert _distance(u.mT @ u, one) < 3e-6
    assert _distance(v @ v.mT, one) < 3e-6
    assert _distance((u * values) @ v, a) < 5e-6
    assert _distance(values, torch.linalg.svdvals(a.double()).float()) < 2e-6
    assert bool((values[:-1] >= values[1:]).all())


@pytest.mark.parametrize("name", _hard_matrices())
def test_eigenvalues_of_hard_matrices(name):
    a = _hard_matrices()[name]
    a = a + a.mT
    values, v = eigh(a)
    assert _distance(v.mT @ v, torch.eye(SIZE)) < 3e-6
    assert _distance((v * values) @ v.mT, a) < 1e-5
    assert _distance(values, torch.linalg.eigvalsh(a.double()).float()) < 5e-6


def test_columns_of_equal_length_rotate_by_the_same_angle():
    """Rounding errors in the inner products must not rotate only one column of a pair."""
    torch.manual_seed(1)
    a = torch.randn(7, 7, dtype=torch.complex64)
    a = torch.linalg.qr(a).Q
    values, v = eigh(a @ torch.diag(torch.tensor([1.0, 1, 1, 1, 2, 2, 2])).to(a.dtype) @ a.mH)
    assert float((v.mH @ v - torch.eye(7)).abs().amax()) < 3e-6
    assert _distance(values, torch.tensor([1.0, 1, 1, 1, 2, 2, 2])) < 3e-6


def test_matrix_exponential_of_bfloat16():
    """PyTorch's result in bfloat16 is NaN or random numbers, so the float32 result is expected."""
    a = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [0.0, 1.0, -2.0]], dtype=torch.bfloat16)
    run = unmess.load(unmess.capture(torch.linalg.matrix_exp, (a,)))
    torch.testing.assert_close(run(a), torch.linalg.matrix_exp(a.float()).bfloat16())


@pytest.mark.parametrize("left", [True, False])
def test_info_of_singular_matrices_matches_eager(left):
    for a in (torch.tensor([[0.0, 1], [0, 0]]), torch.tensor([[0.0, 0], [1, 0]]), torch.ones(2, 2)):
        for matrix in (a, a.mT):
            *_, expected = torch.ops.aten._linalg_solve_ex(matrix, torch.eye(2), left=left)
            assert int(solve(matrix, torch.eye(2), left=left)[-1]) == int(expected)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_errors_of_eager_fail_the_call(runner):
    def function(x):
        return torch.linalg.inv(x), torch.linalg.cholesky(x)

    run = unmess.load(unmess.capture(function, (torch.eye(3),)), on=runner)
    for result, expected in zip(run(torch.eye(3) * 2), function(torch.eye(3) * 2), strict=True):
        torch.testing.assert_close(result, expected)
    for matrix, cause in (
        (torch.zeros(3, 3), "linalg.inv: the matrix is singular"),
        (-torch.eye(3), "linalg.cholesky: the matrix is not positive definite"),
        (torch.full((3, 3), torch.nan), "linalg.cholesky: the matrix is not positive definite"),
    ):
        with pytest.raises(unmess.Error, match=cause):
            run(matrix)


def test_beside_sizes_that_depend_on_data():
    """PyTorch decomposes such a program as a whole."""

    def function(x):
        return torch.linalg.inv(x), x[x > 0]

    x = torch.tensor([[2.0, 1.0], [0.0, 1.0]])
    run = unmess.load(unmess.capture(function, (x,)), on="reference")
    for result, expected in zip(run(x), function(x), strict=True):
        torch.testing.assert_close(result, expected)


def test_dynamic_sizes_of_matrices_run_in_eager_only():
    def function(x):
        return torch.linalg.inv(x + torch.eye(x.shape[0])) * 2

    size = torch.export.Dim("size", min=2, max=9)
    x = torch.rand(4, 4)
    program = unmess.capture(function, (x,), dynamic_shapes=({0: size, 1: size},))
    with pytest.raises(unmess.Error, match=r"no lowering for aten.linalg_inv_ex") as caught:
        unmess.lower(program, to="linalg")
    assert "matrices of static sizes" in caught.value.hint
    run = unmess.load(program, fallback="eager")
    torch.testing.assert_close(run(x[:3, :3]), function(x[:3, :3]))


@pytest.mark.parametrize("dialect", ["tosa", "stablehlo"])
def test_loops_in_further_dialects(dialect):
    def function(x):
        return torch.linalg.cholesky(x), torch.linalg.solve(x, x[:, :2])

    x = torch.tensor([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
    module = unmess.lower(unmess.capture(function, (x,)), to=dialect)
    for runner in ("reference", "iree-cpu"):
        for result, expected in zip(unmess.load(module, on=runner)(x), function(x), strict=True):
            torch.testing.assert_close(result, expected)
