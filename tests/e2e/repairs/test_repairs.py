"""Tests that programs are correct with each repair or decomposition, and wrong without it."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from repair_cases import (
    CASES,
    U8,
    U32,
    branch_on_a_flag,
    empty_caches,
    large_unsigned,
    masks,
    one_of_nothing,
    random,
    rotary,
    rows_of_a_mask,
    samples_of_a_constant,
    several_dimensions_of_a_mask,
    unsigned_order,
)

import unmess
from importers import decompositions, repairs


def without(monkeypatch, name):
    """Removes the repair or decomposition with that name."""
    for module, names in ((repairs, "REPAIRS"), (decompositions, "DECOMPOSITIONS")):
        every = getattr(module, names)
        rest = tuple(entry for entry in every if entry.name != name)
        monkeypatch.setattr(module, names, rest)
        if len(rest) < len(every):
            return
    raise AssertionError(f"there is no repair {name}")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_correct_with_the_repair(case):
    program = unmess.capture(case.function, case.args)
    assert any(case.repair in note.text for note in program.notes), program.notes
    report = unmess.check(program, on="reference", calls=1)
    assert report.ok, report.error


@pytest.mark.parametrize("case", [case for case in CASES if case.without], ids=str)
def test_wrong_without_the_repair(case, monkeypatch):
    without(monkeypatch, case.repair)
    try:
        program = unmess.capture(case.function, case.args)
        assert not any(case.repair in note.text for note in program.notes)
        report = unmess.check(program, on="reference", calls=1)
    except unmess.Error as error:
        assert_matches(case.without, error.cause)
    else:
        assert not report.ok
        assert_matches(case.without, report.error)


def assert_matches(pattern, text):
    assert re.search(pattern, text), text


@pytest.mark.parametrize("holds", [True, False])
def test_a_flag_that_differs_from_the_examples_is_an_error(holds):
    mask = torch.tensor([0, int(holds)])
    run = unmess.load(unmess.capture(branch_on_a_flag, (random(3), mask)), on="reference")
    torch.testing.assert_close(run(random(3), mask), branch_on_a_flag(random(3), mask))
    with pytest.raises(unmess.Error, match="a check in the program failed"):
        run(random(3), 1 - mask - torch.tensor([1, 0]))


def test_a_window_beyond_the_input():
    """Without the decomposition, the lowering pads the input to the size of the window."""

    def pools(x):
        return (
            F.avg_pool2d(x, 2560, ceil_mode=True),
            F.avg_pool2d(x, (8, 2), stride=2, padding=1, ceil_mode=True),
            F.avg_pool2d(x, (8, 2), stride=2, padding=1, ceil_mode=True, count_include_pad=False),
            F.avg_pool2d(x, (3, 10), padding=1, ceil_mode=True, divisor_override=4),
        )

    program = unmess.capture(pools, (random(1, 2, 5, 6),))
    pools = [n for n in program.exported.graph.nodes if "avg_pool2d" in str(n.target)]
    assert [n.args[1] for n in pools] == [[5, 6], [7, 2], [7, 2], [3, 8]]
    assert [n.args[2] for n in pools] == [[5, 6], [7, 2], [7, 2], [3, 8]]
    report = unmess.check(program, on="reference", calls=1)
    assert report.ok, report.error


def test_scatter_along_an_axis_from_the_back():
    """Without the decomposition, the lowering crashes the process."""
    indices = torch.tensor([[0, 2], [1, 3], [4, 0]])

    def scatters(x, y):
        return (
            x.scatter(-1, indices, y),
            x.scatter(-1, indices, 1.5),
            x.scatter_add(-1, indices, y),
            x.scatter_reduce(-1, indices, y, "amax"),
            x.scatter(-2, indices.T.clamp(max=2), y.T),
        )

    program = unmess.capture(scatters, (random(3, 5), random(3, 2)))
    axes = [n.args[1] for n in program.exported.graph.nodes if "scatter" in str(n.target)]
    assert len(axes) == 5 and min(axes) >= 0
    report = unmess.check(program, on="reference", calls=1)
    assert report.ok, report.error


def narrow_arithmetic(x):
    return (
        x * 2,
        x - 1,
        x % 7,
        torch.div(x, 2, rounding_mode="floor"),
        x.max(),
        x.mT.clone().mul_(2),
    )


def reshaped_nothing(x, y):
    return torch.meshgrid(x, x, indexing="ij")[1], y.reshape(5, 0), y.mT @ y


def written_nowhere(x, nowhere):
    return x.index_fill(0, nowhere, 3), x.index_add(0, nowhere, x[:0])


def placed_complex(z):
    i = torch.tensor([[1], [0], [1]])
    added = z.scatter_add(1, i, z), z.scatter(0, i, z, reduce="add")
    return *added, z.index_add(0, i[:2, 0], z[:2]), z[None].expand(2, 3, 2).reshape(-1)


def products_of_lazily_conjugated(z, w):
    return torch.addmm(z, z, w, alpha=2 + 3j), torch.dot(z[0], w[0]), w.imag.softmax(-1)


class LazilyConjugatedState(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(random(2, 2, dtype=torch.complex64).conj())
        self.register_buffer("imaginary", random(2, 2, dtype=torch.complex64).conj().imag)

    def forward(self, z):
        return torch.vdot(z[0], (z @ self.weight)[1]) * self.imaginary


@pytest.mark.parametrize(
    "case",
    [
        (masks, (random(2, 4), random(4))),
        (narrow_arithmetic, (torch.tensor([[100, -3]], dtype=torch.int8),)),
        (reshaped_nothing, (random(0), random(0, 5))),
        (written_nowhere, (random(3, 4), torch.zeros(0, dtype=torch.int64))),
        (samples_of_a_constant, (random(4),)),
        (placed_complex, (random(3, 2, dtype=torch.complex64),)),
        (
            products_of_lazily_conjugated,
            (random(3, 3, dtype=torch.complex64), random(3, 3, dtype=torch.complex64).mH),
        ),
        (LazilyConjugatedState(), (random(2, 2, dtype=torch.complex64).conj(),)),
        (lambda x: (x.squeeze(0), x.squeeze(-1), x.squeeze(())), (torch.tensor(2.0),)),
        (rows_of_a_mask, (random(2, 3), torch.tensor([True, True]))),
        (several_dimensions_of_a_mask, (random(2, 4), random(4))),
        (unsigned_order, U8),
        (large_unsigned, (U32,)),
        (one_of_nothing, (torch.tensor(2.0), torch.tensor(math.inf))),
    ],
    ids=lambda case: getattr(case[0], "__name__", type(case[0]).__name__),
)
def test_correct_with_all_repairs(case):
    """Does not remove the repairs: the process would crash, hang or read uninitialized memory."""
    report = unmess.check(unmess.capture(*case), on="reference", calls=1)
    assert report.ok, report.error


def test_rotary_embeddings_lower_to_every_output_dialect():
    program = unmess.capture(rotary, (random(1, 6, 8), random(6, 4)))
    for dialect in ("linalg", "tosa", "stablehlo"):
        assert "complex<" not in unmess.lower(program, to=dialect).text()
    assert unmess.check(program, on="reference", calls=1).ok


def test_operands_that_share_one_trace():
    """Both real parts come from one trace and share its fake tensor."""
    z = random(3, dtype=torch.complex64)
    program = unmess.capture(lambda a, b: torch.polar(a.real, b.real), (z, z.flip(0)))
    report = unmess.check(program, on="reference", calls=1)
    assert report.ok, report.error


def test_hyperbolic_cosine_of_f16_on_iree(monkeypatch):
    """The exponential of 11.5 is infinite in f16, the hyperbolic cosine is not."""
    x = torch.linspace(-12, 12, 64).half()
    report = unmess.check(unmess.capture(torch.cosh, (x,)), on="iree-cpu", calls=1)
    assert report.ok, report.error
    without(monkeypatch, "hyperbolic cosine of f16")
    assert not unmess.check(unmess.capture(torch.cosh, (x,)), on="iree-cpu", calls=1).ok


def test_logarithms_on_iree(monkeypatch):
    """Without the decomposition, asinh is -inf below about -3000, and log10 does not link."""
    x = torch.tensor([-5000.0, -6.0, 0.25])
    report = unmess.check(unmess.capture(torch.asinh, (x,)), on="iree-cpu", calls=1)
    assert report.ok, report.error
    report = unmess.check(unmess.capture(torch.log10, (x.abs(),)), on="iree-cpu", calls=1)
    assert report.ok, report.error
    without(monkeypatch, "logarithms in f64")
    assert not unmess.check(unmess.capture(torch.asinh, (x,)), on="iree-cpu", calls=1).ok
    with pytest.raises(unmess.Error, match="IREE's runtime lacks log10f"):
        unmess.load(unmess.capture(torch.log10, (x.abs(),)), on="iree-cpu")


def test_with_a_dynamic_batch():
    def function(x, pixels):
        spectrum = torch.fft.fft(x, dim=1)
        return spectrum.real, torch.histc(x, bins=4), pixels + pixels, pixels[pixels > 3]

    def inputs(batch):
        pixels = torch.arange(batch * 5, dtype=torch.uint8).reshape(batch, 5) * 9
        return random(batch, 6), pixels

    batch = torch.export.Dim("batch", min=2, max=64)
    program = unmess.capture(
        function, inputs(3), dynamic_shapes={"x": {0: batch}, "pixels": {0: batch}}
    )
    run = unmess.load(program)
    for size in (3, 7):
        for ours, theirs in zip(run(*inputs(size)), function(*inputs(size)), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_gelu_of_narrow_floats_is_rounded_once(monkeypatch):
    x = torch.linspace(-4, 4, 500).bfloat16()

    def share_that_differs():
        run = unmess.load(unmess.capture(F.gelu, (x,)), on="reference")
        return float((run(x) != F.gelu(x)).float().mean())

    assert share_that_differs() < 0.03
    without(monkeypatch, "GELU by tanh or in f32")
    assert share_that_differs() > 0.3


def test_concatenation_of_empty_tensors_at_any_size(monkeypatch):
    batch = torch.export.Dim("batch", min=2, max=8)
    args = random(2, 3, 4), random(2, 5, 4)

    def captured():
        return unmess.capture(empty_caches, args, dynamic_shapes=({0: batch}, {0: batch}))

    report = unmess.check(captured(), on="reference", calls=1)
    assert report.ok, report.error
    without(monkeypatch, "concatenation of empty tensors or of different dtypes")
    with pytest.raises(unmess.Error, match="requires at least one input"):
        unmess.lower(captured())


def test_transformers_grouped_product(monkeypatch):
    import transformers.integrations.moe  # noqa: F401 -- defines the operator

    def experts(x, weights, ends):
        return torch.ops.transformers.grouped_mm_fallback(x, weights, ends)

    args = (random(9, 8), random(4, 8, 6), torch.tensor([2, 5, 5, 9]))
    report = unmess.check(unmess.capture(experts, args), on="reference", calls=1)
    assert report.ok, report.error
    without(monkeypatch, "transformers' grouped matrix product")
    with pytest.raises(unmess.Error, match=r"no lowering for transformers\.grouped_mm_fallback"):
        unmess.lower(unmess.capture(experts, args))
