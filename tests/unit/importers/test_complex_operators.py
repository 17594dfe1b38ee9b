"""Compares operators on pairs of real tensors with eager PyTorch on complex ones, in float64."""

import pytest
import torch

from importers.repairs.complex_operators import OPERATORS, Complex

aten = torch.ops.aten
GENERATOR = torch.Generator().manual_seed(0)
Z = torch.randn(3, 4, dtype=torch.complex128, generator=GENERATOR)
W = torch.randn(3, 4, dtype=torch.complex128, generator=GENERATOR)
X = torch.randn(3, 4, dtype=torch.float64, generator=GENERATOR)
# Quadrants, axes, zero, and magnitudes whose squares overflow or underflow.
HARD = torch.tensor(
    [0, 1, -1, 1j, -1j, 1 + 1j, -1 + 1j, -1 - 1j, 3e200 + 4e200j, 3e-200 - 4e-200j, -9 + 1e-9j],
    dtype=torch.complex128,
)
NUMBERS = (torch.nan, torch.inf, -torch.inf, 0, 1, -1.5)
SPECIAL = torch.tensor([complex(a, b) for a in NUMBERS for b in NUMBERS], dtype=torch.complex128)
FINITE = HARD[[1, 2, 3, 4, 5, 6, 7, 10]]

CALLS = [
    *((name, (z,)) for name in ("abs", "angle", "sgn", "sqrt") for z in (Z, HARD)),
    *((name, (SPECIAL,)) for name in ("abs", "reciprocal")),
    ("div", (SPECIAL[:, None], SPECIAL)),
    *((name, (HARD[1:],)) for name in ("log", "reciprocal", "rsqrt")),
    *(
        (name, (z,))
        for name in ("exp", "sin", "cos", "sinh", "cosh", "tanh", "sigmoid", "neg", "conj_physical")
        for z in (Z, FINITE)
    ),
    ("tan", (Z,)),
    # Eager's float64 acos is inaccurate near 1.
    *(
        (name, (z,))
        for name in ("asin", "atan", "asinh", "acosh", "atanh")
        for z in (Z, HARD, SPECIAL)
    ),
    *((name, (SPECIAL,)) for name in ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "log")),
    ("tanh", (1e3 * Z,)),
    ("cumprod", (Z, 1)),
    ("rms_norm", (Z, [4], W[0], 0.1)),
    *((name, pair) for name in ("add", "sub", "mul", "div") for pair in ((Z, W), (Z, X), (X, Z))),
    *((name, (Z, number)) for name in ("add", "sub", "mul", "div") for number in (2, 0.5, 1 - 2j)),
    ("add", (Z[:1], X[:, :1])),
    ("rsub", (Z, 2)),
    ("div", (HARD[-3:], HARD[-3:])),
    *(("pow", (Z, exponent)) for exponent in (1, 2, 3, 0.5, -2)),
    ("pow", (Z, W)),
    ("eq", (Z, Z)),
    ("ne", (Z, W)),
    ("mm", (Z, W.T)),
    ("sum", (Z, [0])),
    ("mean", (Z, [1], True)),
    ("cat", ([Z, W], 1)),
    ("cat", ([Z, X], 0)),
    ("where", (X > 0, Z, W)),
    ("constant_pad_nd", (Z, [1, 2], 3)),
    ("linalg_vector_norm", (Z, 2, [1])),
    ("view_as_real", (Z,)),
    ("full_like", (Z, 1 + 2j)),
    ("isinf", (Z / 0,)),
    ("split", (Z, 2, 1)),
]


def as_pairs(tree):
    return torch.utils._pytree.tree_map_only(
        torch.Tensor, lambda t: Complex(t.real, t.imag) if t.is_complex() else t, tree
    )


def as_complex(tree):
    return torch.utils._pytree.tree_map_only(
        Complex,
        lambda z: torch.complex(z.real, z.imaginary),
        tree,
        is_leaf=lambda z: isinstance(z, Complex),
    )


@pytest.mark.parametrize(
    ("name", "args"), CALLS, ids=[f"{index}-{call[0]}" for index, call in enumerate(CALLS)]
)
def test_like_eager(name, args):
    expected = getattr(aten, name)(*args)
    actual = as_complex(OPERATORS[getattr(aten, name)](*as_pairs(args)))
    if not isinstance(expected, torch.Tensor):
        expected, actual = list(expected), list(actual)
    torch.testing.assert_close(actual, expected, rtol=1e-13, atol=0, equal_nan=True)


def test_numbers_and_zero_dim_tensors_do_not_widen_dtypes():
    z = torch.ones(3, dtype=torch.complex64)
    for other in (2.5, 1j, torch.tensor(2.0, dtype=torch.float64)):
        expected = z * other
        actual = as_complex(OPERATORS[aten.mul](*as_pairs((z, other))))
        assert actual.dtype == expected.dtype
        assert torch.equal(actual, expected)


def test_integer_tensors_do_not_change_complex_dtypes():
    args = torch.ones((), dtype=torch.complex128), torch.arange(3)
    assert as_complex(OPERATORS[aten.add](*as_pairs(args))).dtype == torch.add(*args).dtype
