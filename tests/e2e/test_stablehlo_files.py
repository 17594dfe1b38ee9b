"""Tests of handwritten StableHLO and TOSA in the style of other tools: results and errors."""

import pytest
import torch

import unmess
from unmess.core.ir.recognition import public_functions

RUNNERS = ("reference", "iree-cpu")


@pytest.fixture(params=RUNNERS)
def runner(request):
    return request.param


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="model.mlir"):
        path = tmp_path / name
        path.write_text(text) if isinstance(text, str) else path.write_bytes(text)
        return str(path)

    return write_file


BRANCHES = """
func.func public @main(%i: tensor<i32>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = call @choose(%i, %x) : (tensor<i32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = call @choose(%i, %0) : (tensor<i32>, tensor<3xf32>) -> tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
func.func private @choose(%i: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.case"(%i) ({
    %1 = stablehlo.negate %x : tensor<3xf32>
    stablehlo.return %1 : tensor<3xf32>
  }, {
    %1 = stablehlo.abs %x : tensor<3xf32>
    stablehlo.return %1 : tensor<3xf32>
  }, {
    %1 = stablehlo.add %x, %x : tensor<3xf32>
    stablehlo.return %1 : tensor<3xf32>
  }) : (tensor<i32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func private @never_called(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
"""


def test_branches_and_private_functions(write, runner):
    """An index without a branch selects the last branch."""
    run = unmess.load(write(BRANCHES), on=runner)
    x = torch.tensor([-1.0, 2.0, -3.0])
    functions = [torch.neg, torch.abs, lambda x: x + x]
    for index in (0, 1, 2, 3, -1):
        function = functions[index if index in (0, 1) else 2]
        first, second = run(torch.tensor(index, dtype=torch.int32), x)
        assert torch.equal(first, function(x)) and torch.equal(second, function(function(x)))


SCATTER = """
func.func public @main(%x: tensor<4x5xf32>, %n: tensor<4x5xi32>, %at: tensor<3x2x{kind}>,
                       %u: tensor<2x3xf32>, %m: tensor<2x3xi32>)
    -> (tensor<4x5xf32>, tensor<4x5xi32>) {{
  %0:2 = "stablehlo.scatter"(%x, %n, %at, %u, %m) ({{
  ^bb0(%a: tensor<f32>, %i: tensor<i32>, %b: tensor<f32>, %j: tensor<i32>):
    %1 = stablehlo.multiply %a, %b : tensor<f32>
    %2 = stablehlo.maximum %i, %j : tensor<i32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
  }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1>}}
    : (tensor<4x5xf32>, tensor<4x5xi32>, tensor<3x2x{kind}>, tensor<2x3xf32>, tensor<2x3xi32>)
    -> (tensor<4x5xf32>, tensor<4x5xi32>)
  return %0#0, %0#1 : tensor<4x5xf32>, tensor<4x5xi32>
}}
"""


@pytest.mark.parametrize("kind", ["i64", "ui8"])
def test_scatter_of_two_tensors(write, runner, kind):
    """Skips windows of 2 columns that are partly outside."""
    run = unmess.load(write(SCATTER.format(kind=kind)), on=runner)
    x, n = torch.randn(4, 5), torch.randint(-9, 9, (4, 5), dtype=torch.int32)
    u, m = torch.randn(2, 3), torch.randint(-9, 9, (2, 3), dtype=torch.int32)
    for at in ([[0, 0], [3, 3], [3, 3]], [[4, 1], [3, 4], [0, 2]], [[200, 1], [1, 255], [0, 2]]):
        expected_x, expected_n = x.clone(), n.clone()
        for place, (column, row) in enumerate(at):
            if column <= 3 and row <= 3:
                for offset in range(2):
                    expected_x[row, column + offset] *= u[offset, place]
                    old = expected_n[row, column + offset]
                    expected_n[row, column + offset] = max(old, m[offset, place])
        dtype = {"i64": torch.int64, "ui8": torch.uint8}[kind]
        actual_x, actual_n = run(x, n, torch.tensor(at, dtype=dtype), u, m)
        assert torch.equal(actual_x, expected_x) and torch.equal(actual_n, expected_n)


GATHER = """
func.func public @main(%x: tensor<6x3xf32>, %at: tensor<4x{kind}>) -> tensor<4x2xf32> {{
  %0 = "stablehlo.gather"(%x, %at) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 2>}}> : (tensor<6x3xf32>, tensor<4x{kind}>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}}
"""


@pytest.mark.parametrize(
    ("kind", "indices"),
    [
        ("i32", torch.tensor([0, -(2**31), 2**31 - 1, 5], dtype=torch.int32)),
        ("ui8", torch.tensor([0, 200, 6, 5], dtype=torch.uint8)),
    ],
    ids=["i32", "ui8"],
)
def test_gather_clamps_indices(write, runner, kind, indices):
    run = unmess.load(write(GATHER.format(kind=kind)), on=runner)
    x = torch.randn(6, 3)
    nearest = indices.long().clamp(0, 5)
    assert torch.equal(run(x, indices), x[nearest, :2])


def test_large_unsigned_indices(write):
    run = unmess.load(write(GATHER.format(kind="ui64")), on="reference")
    x = torch.randn(6, 3)
    indices = torch.tensor([0, 2, 5, 1]).to(torch.uint64)
    assert torch.equal(run(x, indices), x[indices.long(), :2])
    largest = torch.tensor([-1, -(2**63), 5, 1]).view(torch.uint64)
    assert torch.equal(run(x, largest), x[[5, 5, 5, 1], :2])


DYNAMIC = """
func.func public @main(%x: tensor<?x4xf32>, %y: tensor<?xf32>)
    -> (tensor<?x2xf32>, tensor<?x4xf32>) {{
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %four = stablehlo.constant dense<4> : tensor<1xi32>
  %rows = stablehlo.multiply %n1, %{factor} : tensor<1xi32>
  %s = stablehlo.concatenate %rows, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %0 = stablehlo.dynamic_reshape %x, %s : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x2xf32>
  %t = stablehlo.concatenate %n1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %1 = stablehlo.dynamic_broadcast_in_dim %y, %t, dims = [0]
    : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  return %0, %1 : tensor<?x2xf32>, tensor<?x4xf32>
}}
"""


def test_sizes_that_do_not_match_fail_the_call(write, runner):
    run = unmess.load(write(DYNAMIC.format(factor="two")), on=runner)
    for rows in (1, 3, 0):
        x, y = torch.randn(rows, 4), torch.randn(rows)
        reshaped, stretched = run(x, y)
        assert torch.equal(reshaped, x.reshape(-1, 2))
        assert torch.equal(stretched, y[:, None].expand(rows, 4))
    # A dynamic size of 1 is not broadcast either.
    for rows in (1, 2, 4):
        with pytest.raises(unmess.Error, match="check in the program failed"):
            run(torch.randn(3, 4), torch.randn(rows))
    run = unmess.load(write(DYNAMIC.format(factor="four")), on=runner)
    with pytest.raises(unmess.Error, match="check in the program failed"):
        run(torch.randn(3, 4), torch.randn(3))


REFUSED = {
    "the custom call @lapack_spotrf_ffi": """
func.func public @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.custom_call @lapack_spotrf_ffi(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}""",
    "computes a size from data": """
func.func public @main(%x: tensor<1xi32>) -> tensor<?xf32> {
  %0 = stablehlo.dynamic_iota %x, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}""",
    "a program for 2 devices": """
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
}""",
    "no function to call": """
func.func private @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }""",
    "func.call": """
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.abs %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}""",
}


@pytest.mark.parametrize("cause", REFUSED)
def test_refusals(write, cause):
    with pytest.raises(unmess.Error) as caught:
        unmess.load(write(REFUSED[cause]), on="reference")
    assert cause in caught.value.cause and "\n" not in caught.value.cause


# For each case: the function of PyTorch, the shape of its operand and the lengths along the last
# axes. Lengths are short, prime, composite, even and odd.
TRANSFORMS = [
    ("fft", (3, 96), (96,)),
    ("ifft", (127,), (127,)),
    ("fft", (2, 6, 10, 100), (6, 10, 100)),
    ("rfft", (2, 1000), (1000,)),
    ("rfft", (3, 5, 9), (5, 9)),
    ("irfft", (2, 33), (64,)),
    ("irfft", (5, 5), (5, 9)),
    ("irfft", (2, 1), (1,)),
]
NAMES = {torch.float64: "f64", torch.complex128: "complex<f64>"}


@pytest.mark.parametrize("name, shape, lengths", TRANSFORMS)
def test_fourier_transforms(write, runner, name, shape, lengths):
    dtype = torch.float64 if name == "rfft" else torch.complex128
    x = torch.randn(shape, dtype=dtype)
    axes = tuple(range(-len(lengths), 0))
    expected = getattr(torch.fft, f"{name}n")(x, s=lengths, dim=axes)
    operand, result = (
        f"tensor<{''.join(f'{size}x' for size in each.shape)}{NAMES[each.dtype]}>"
        for each in (x, expected)
    )
    text = f"""
    func.func @main(%x: {operand}) -> {result} {{
      %0 = stablehlo.fft %x, type = {name.upper()}, length = {list(lengths)}
          : ({operand}) -> {result}
      return %0 : {result}
    }}"""
    torch.testing.assert_close(unmess.load(write(text), on=runner)(x), expected)


def test_damaged_files_of_jax_export(write):
    for content in (b"", b"\0\0\0\0", b"\xff" * 64, bytes(range(256)), b"MLir" * 20):
        with pytest.raises(unmess.Error, match=r"is not a file of jax\.export"):
            unmess.load(write(content, "model.jax_export"))


TOSA = """
module attributes {tf_saved_model.semantics} {
  func.func public @scaled(%x: tensor<2x3xf32> {tf_saved_model.index_path = ["x"]}, %n: tensor<i32>)
      -> (tensor<2x3xf32>) attributes {tf_saved_model.exported_names = ["scaled"]} {
    %0 = call @body(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1:2 = tosa.while_loop (%i = %n, %y = %0) : (tensor<i32>, tensor<2x3xf32>)
        -> (tensor<i32>, tensor<2x3xf32>) {
      %end = "tosa.const"() {values = dense<3> : tensor<i32>} : () -> tensor<i32>
      %goes_on = tosa.greater %end, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      tosa.yield %goes_on : tensor<i1>
    } do {
    ^bb0(%i: tensor<i32>, %y: tensor<2x3xf32>):
      %one = "tosa.const"() {values = dense<1> : tensor<i32>} : () -> tensor<i32>
      %next = tosa.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %twice = tosa.add %y, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      tosa.yield %next, %twice : tensor<i32>, tensor<2x3xf32>
    }
    return %1#1 : tensor<2x3xf32>
  }
  func.func private @body(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = tosa.tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  func.func public @positive(%x: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<?x3xi1>) {
    %0 = tosa.exp %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
    %1 = tosa.greater %0, %x : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xi1>
    return %0, %1 : tensor<?x3xf32>, tensor<?x3xi1>
  }
}
"""


def test_public_functions_of_tosa(write, runner):
    run = unmess.load(write(TOSA), on=runner)
    x = torch.randn(2, 3)
    torch.testing.assert_close(
        run["scaled"](x, torch.tensor(1, dtype=torch.int32)), torch.tanh(x) * 4
    )
    exponential, larger = run["positive"](torch.randn(5, 3))
    assert exponential.shape == (5, 3) and bool(larger.all())


def test_only_public_functions_are_entry_points():
    from unmess.core.ir.parsing import parse

    module = parse(BRANCHES, "branches")
    assert list(public_functions(module)) == ["main"]


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(4, 8)

    def forward(self, x):
        hidden = torch.nn.functional.gelu(self.linear(x))
        return torch.softmax(hidden @ hidden.mT, -1).flatten(1), hidden.mean((0, 1))


@pytest.mark.parametrize("dynamic", [None, ["x.0=batch"]], ids=["static", "dynamic"])
def test_portable_artifact_is_read_again(dynamic, runner, tmp_path):
    model, x = Attention(), torch.randn(3, 5, 4)
    program = unmess.capture(model, (x,), dynamic_shapes=dynamic)
    file = tmp_path / "model.mlirbc"
    unmess.lower(program, to="stablehlo", portable="1.0.0").save(file)
    assert b"StableHLO_v1.0.0" in file.read_bytes()
    run = unmess.load(str(file), on=runner)
    for batch in (3,) if dynamic is None else (2, 3, 7):
        x = torch.randn(batch, 5, 4)
        for ours, theirs in zip(run(x), model(x), strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"to": "linalg", "portable": "1.0.0"}, "applies to stablehlo, not to linalg"),
        ({"weights": "inline", "portable": "1.0.0"}, "cannot have inline weights"),
        ({"portable": "newest"}, "'newest' is not a version"),
        ({"portable": "99.0.0"}, "for StableHLO 99.0.0"),
    ],
)
def test_what_has_no_portable_form_is_refused(options, cause):
    program = unmess.capture(Attention(), (torch.randn(3, 5, 4),))
    with pytest.raises(unmess.Error, match=cause) as caught:
        unmess.lower(program, **{"to": "stablehlo", **options})
    assert caught.value.stage == "usage"
