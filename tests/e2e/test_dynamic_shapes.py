"""Programs with dynamic sizes match eager PyTorch on both runners, at many sizes."""

import functools
import json
import math

import pytest
import torch
import torch.nn.functional as F
import torchvision
from torch.utils import _pytree as pytree

import unmess
from importers.sources import find_source

RUNNERS = ("reference", "iree-cpu")


@pytest.fixture(scope="module")
def program():
    """Returns a function that gets a program by name and captures it once for all runners."""
    programs = {}

    def get(name, make):
        if name not in programs:
            programs[name] = make()
        return programs[name]

    return get


def assert_matches(model, run, *args, **kwargs):
    with torch.no_grad():
        expected = model(*args, **kwargs)
    torch.testing.assert_close(
        pytree.tree_leaves(run(*args, **kwargs)),
        pytree.tree_leaves(expected),
        atol=2e-5,
        rtol=1e-4,
    )


def resnet():
    model = find_source("torchvision:resnet18").model
    # The second block of each layer has no operator that the others do not have.
    for layer in (model.layer1, model.layer2, model.layer3, model.layer4):
        del layer[1]
    image = torch.randn(1, 3, 64, 64)
    return unmess.capture(model, (image,), dynamic_shapes=["x.0=batch:1..8"])


@pytest.mark.parametrize("runner", RUNNERS)
def test_resnet_at_several_batch_sizes(program, runner):
    found = program("resnet", resnet)
    run = unmess.load(found, on=runner)
    for batch in (1, 3, 8):
        assert_matches(found.eager, run, torch.randn(batch, 3, 64, 64))
    with pytest.raises(unmess.Error, match=r"x.shape\[0\] is 9, expected 1 to 8"):
        run(torch.randn(9, 3, 64, 64))


def text(batch, length):
    ids = torch.randint(64, 440, (batch, length))
    mask = torch.ones_like(ids)
    mask[1:, length // 2 :] = 0
    return {"input_ids": ids, "attention_mask": mask}


@pytest.mark.parametrize("model", ["bert", "llama"])
@pytest.mark.parametrize("runner", RUNNERS)
def test_transformer_at_several_batch_sizes_and_lengths(program, model, runner):
    declared = ["*.0=batch", "*.1=length"]
    found = program(model, lambda: unmess.capture(f"hf:{model}", dynamic_shapes=declared))
    run = unmess.load(found, on=runner)
    for batch, length in ((1, 5), (3, 7), (2, 16), (4, 33), (2, 1)):
        assert_matches(found.eager, run, **text(batch, length))
    call = text(2, 6) | {"attention_mask": torch.ones(2, 7, dtype=torch.int64)}
    with pytest.raises(unmess.Error, match="they must be equal") as caught:
        run(**call)
    assert caught.value.stage == "run"


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=True)


def attention():
    torch.manual_seed(0)
    shapes = ["x.0=batch", "x.1=length"]
    return unmess.capture(Attention().eval(), (torch.randn(2, 5, 16),), dynamic_shapes=shapes)


@pytest.mark.parametrize("runner", RUNNERS)
def test_attention_with_two_dynamic_dimensions(program, runner):
    """llvm/torch-mlir issue 4743: NaN or 1e30 without the repair of symbolic views."""
    report = unmess.check(program("attention", attention), on=runner, calls=1)
    assert report.ok, report.error
    assert [check.sizes for check in report.sizes] == [
        {"batch": 3, "length": 6},
        {"batch": 1, "length": 2},
    ]
    assert all(check.ok for check in report.sizes)


def patches(image):
    """Flattens the pixels of 4x4 patches, as vision transformers do."""
    batch, channels, height, width = image.shape
    rows, columns = height // 4, width // 4
    tiles = image.reshape(batch, channels, rows, 4, columns, 4).permute(0, 2, 4, 1, 3, 5)
    return tiles.reshape(batch, rows * columns, channels * 16), tiles.flatten(0, 2)


def windows(image):
    return torch.nn.functional.pixel_unshuffle(image, 2), torch.nn.functional.pixel_shuffle(
        image.repeat(1, 4, 1, 1), 2
    )


INFERRED = {
    "middle": lambda x: x.reshape(x.shape[0], 2, -1, x.shape[2], x.shape[3]),
    "last": lambda x: x.reshape(x.shape[0] * 2 * x.shape[2] * x.shape[3], -1),
    "first": lambda x: x.reshape(-1, x.shape[2], x.shape[1] * x.shape[3]),
    "after a quotient": lambda x: x.reshape(1, x.shape[0], x.shape[1] // 2, -1),
    "after a permutation": lambda x: x.permute(0, 2, 3, 1).reshape(x.shape[3], -1, 2),
}


@pytest.mark.parametrize("name", INFERRED)
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_reshape_with_an_inferred_size(name, runner):
    """torch-mlir passes -1 on as a size if another size is dynamic."""
    function = INFERRED[name]
    sizes = {axis: torch.export.Dim(f"size_{axis}") for axis in (0, 2, 3)}
    sizes[1] = 2 * torch.export.Dim("half")
    image = torch.arange(480.0).reshape(2, 4, 6, 10)
    program = unmess.capture(function, (image,), dynamic_shapes=(sizes,))
    run = unmess.load(program, on=runner)
    for other in (image, torch.arange(630.0).reshape(3, 6, 5, 7)):
        assert torch.equal(run(other), function(other))
    if name != "first":
        # Eager: cannot reshape tensor of 0 elements, since any size would do.
        with pytest.raises(unmess.Error, match="run: ") as problem:
            run(torch.zeros(0, 6, 5, 7))
        assert "internal" not in str(problem.value)


# torch-mlir divides by the number of elements of a view, and crashes if there are none.
WITHOUT_ELEMENTS = {
    "created": lambda x: x.new_empty((0, x.shape[2], 2)).reshape(0, x.shape[2] * 2),
    "a part": lambda x: x[:0].reshape(-1, x.shape[2] * x.shape[3], 1),
    "no boxes": lambda x: torchvision.ops.roi_align(x, torch.zeros(0, 5), (2, 3), 0.5, 2),
}


@pytest.mark.parametrize("name", WITHOUT_ELEMENTS)
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_reshape_of_an_empty_tensor(name, runner):
    function = WITHOUT_ELEMENTS[name]
    height, width = map(torch.export.Dim, ("height", "width"))
    image = torch.ones(2, 3, 8, 9)
    program = unmess.capture(function, (image,), dynamic_shapes=({2: height, 3: width},))
    found, expected = unmess.load(program, on=runner)(image), function(image)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


def roi_align(image, boxes):
    return torchvision.ops.roi_align(image, boxes, (2, 3), 0.5, -1)


def deform_conv2d(image, boxes):
    offset = image.repeat(1, 3, 1, 1)[:, :18]
    weight = torch.linspace(-1, 1, 4 * 6 * 9).reshape(4, 6, 3, 3)
    return torchvision.ops.deform_conv2d(image, offset, weight, padding=1), boxes + 1


@pytest.mark.parametrize("function", [roi_align, deform_conv2d])
@pytest.mark.parametrize("runner", RUNNERS)
def test_operators_of_torchvision_on_images_of_any_size(function, runner):
    height, width, count = map(torch.export.Dim, ("height", "width", "count"))
    shapes = ({2: height, 3: width}, {0: count})
    boxes = torch.tensor([[0.0, 1, 1, 9, 9], [1, 2, 3, 20, 14]])
    image = torch.randn(2, 6, 10, 12, generator=torch.Generator().manual_seed(0))
    run = unmess.load(unmess.capture(function, (image, boxes), dynamic_shapes=shapes), on=runner)
    for arguments in ((image, boxes), (image[:, :, :5, :7].contiguous(), boxes[:1])):
        torch.testing.assert_close(run(*arguments), function(*arguments))


@pytest.mark.parametrize("function", [patches, windows])
@pytest.mark.parametrize("runner", RUNNERS)
def test_sizes_that_are_multiples(program, function, runner):
    shapes = ["image.0=batch,image.2=4*rows,image.3=4*columns"]
    make = torch.randn(2, 3, 8, 12)
    found = program(function, lambda: unmess.capture(function, (make,), dynamic_shapes=shapes))
    run = unmess.load(found, on=runner)
    for shape in ((1, 3, 16, 8), (3, 3, 12, 20)):
        assert_matches(function, run, torch.randn(shape))
    with pytest.raises(unmess.Error, match=r"image.shape\[2\] is 10, but must be 4\*rows"):
        run(torch.randn(2, 3, 10, 12))


class Counted(torch.nn.Module):
    def forward(self, x, count):
        return x[: count.item()] * 2


def split(x, sizes):
    first, second = x.split(sizes.tolist(), 1)
    return first * 2, second.sum(1), torch.cat([second, first], 1)


MASKED = torch.tensor([[1.0, -1.0, 2.0], [0.0, 3.0, 0.0]])
BY_DATA = {
    "nonzero": (torch.nonzero, [(MASKED,), (-MASKED,), (MASKED * 0,)]),
    "mask": (lambda x: x[x > 0] * 2, [(MASKED,), (-MASKED,), (MASKED * 0,)]),
    "along": (
        lambda x: torch.take_along_dim(x[x > -1].view(1, -1), torch.tensor([[1], [0]]), -1),
        [(MASKED,), (MASKED + 1,)],
    ),
    "rows": (lambda x: x[x[:, 0] > 0] @ torch.ones(3, 2), [(MASKED,), (MASKED + 1,)]),
    "split": (split, [(MASKED, torch.tensor(sizes)) for sizes in ([1, 2], [3, 0])]),
    "item": (Counted(), [(MASKED, torch.tensor(n)) for n in (2, 1)]),
}


@functools.cache
def by_data():
    """Returns the programs as entry points of one module, which each runner compiles once."""
    return unmess.combine(
        {name: unmess.capture(function, calls[0]) for name, (function, calls) in BY_DATA.items()}
    )


@functools.cache
def compiled_by_data(runner):
    return unmess.load(by_data(), on=runner)


@pytest.mark.parametrize("name", BY_DATA)
@pytest.mark.parametrize("runner", RUNNERS)
def test_results_whose_size_depends_on_data(name, runner):
    function, calls = BY_DATA[name]
    run = compiled_by_data(runner)[name]
    for call in calls:
        assert_matches(function, run, *call)


def test_data_dependent_sizes_without_lowering_are_errors():
    def eigenvalues(x):
        rows = x[x[:, 0] > 0]
        return torch.linalg.eigvals(rows.mT @ rows), rows

    found = unmess.capture(eigenvalues, (MASKED,))
    with pytest.raises(unmess.Error, match=r"no lowering for aten\.linalg_eig") as caught:
        unmess.load(found)
    assert caught.value.hint


def test_dynamic_sizes_are_question_marks_in_linalg(program):
    module = unmess.lower(program("attention", attention), to="linalg")
    entry = next(line for line in str(module).splitlines() if "func.func @main" in line)
    assert "%x: tensor<?x?x16xf32>" in entry
    assert "-> (tensor<?x?x16xf32>, tensor<?x?x?xf32>)" in entry


def test_command_line(unmess_command, tmp_path):
    file = tmp_path / "model.py"
    file.write_text("import torch\ndef model():\n    return torch.nn.ReLU(), (torch.ones(1, 3),)\n")
    dynamic = ("--dynamic", "input.0=rows:1..8,input.1=columns")
    done = unmess_command("check", f"{file}:model", "--on", "reference", *dynamic, "--json")
    (row,) = json.loads(done.stdout)
    assert done.returncode == 0 and row["ok"]
    assert [check["sizes"] for check in row["sizes"]] == [
        {"rows": 3, "columns": 4},
        {"rows": 1, "columns": 2},
    ]
    assert any("enlarged" in note for note in row["notes"])


@pytest.mark.parametrize(
    "function", [lambda x: x.squeeze(), lambda x: x.squeeze(1), lambda x: (x + 1).squeeze((0, -2))]
)
def test_a_size_that_squeeze_would_remove_is_refused(function):
    """With a size of 1, eager's result has another rank, which the program cannot return."""
    dynamic = ({1: torch.export.Dim("n")},)
    program = unmess.capture(function, (torch.ones(1, 3, 1),), dynamic_shapes=dynamic)
    run = unmess.load(program)
    x = torch.randn(1, 5, 1)
    assert torch.equal(run(x), function(x))
    with pytest.raises(unmess.Error, match=r"valid only for x.shape\[1\] != 1"):
        run(x[:, :1])


def operate_on_a_size(x, i):
    """Calls operators with a size where they take a tensor, and reflects at a dynamic end."""
    n = x.shape[0]
    sub, div = torch.ops.aten.sub.Tensor, torch.ops.aten.div.Tensor
    spectrum = torch.stft(x[:, 0], 16, window=torch.ones(16), center=True, return_complex=True)
    padded = torch.nn.functional.pad(x.mT[None], (2, 3, 1, 0), mode="reflect")
    return n - x, sub(n, i.int()), div(n, x.double()), sub(n, i[0, 0]), spectrum.abs(), padded


def of_sizes(x, y):
    n, m = x.shape[0], y.shape[0]
    padded = F.pad(x, (0, 0, 0, (4 - n % 4) % 4))
    lengths = (max(n, m), min(n, m), math.floor(n * 0.7), math.ceil(n / 4), round(n * 0.6))
    lengths += (abs(m - n), n << 1, n**2, torch.sym_ite(n > m, n, m))
    return padded, x * (1 / (n + 1.5)), x * n**0.5, [x.new_ones(length) for length in lengths]


@pytest.mark.parametrize("runner", RUNNERS)
def test_arithmetic_of_sizes(program, runner):
    def make():
        args = torch.randn(6, 5), torch.randn(4, 5)
        return unmess.capture(of_sizes, args, dynamic_shapes=["x.0", "y.0"])

    run = unmess.load(program("sizes", make), on=runner)
    for n, m in ((6, 4), (9, 7), (5, 8)):
        assert_matches(of_sizes, run, torch.randn(n, 5), torch.randn(m, 5))


def swin_windows(x):
    """Divides images into windows of 4 by 4, as Swin does, and puts them together again."""
    batch, channels, height, width = x.shape
    x = F.pad(x, (0, (4 - width % 4) % 4, 0, (4 - height % 4) % 4))
    rows, columns = x.shape[2] // 4, x.shape[3] // 4
    x = x.view(batch, channels, rows, 4, columns, 4).permute(0, 2, 4, 1, 3, 5)
    x = x.reshape(-1, channels, 4, 4)
    x = (x - x.mean((2, 3), keepdim=True)).view(batch, rows, columns, channels, 4, 4)
    x = x.permute(0, 3, 1, 4, 2, 5).reshape(batch, channels, rows * 4, columns * 4)
    return x[:, :, :height, :width]


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_result_without_its_padding(program, runner):
    def make():
        return unmess.capture(
            swin_windows, (torch.randn(2, 3, 12, 10),), dynamic_shapes=["x.2", "x.3"]
        )

    run = unmess.load(program("swin windows", make), on=runner)
    for size in ((12, 10), (16, 14), (8, 18)):
        assert_matches(swin_windows, run, torch.randn(2, 3, *size))


ADAPTIVE = {
    "one axis": lambda x: F.adaptive_avg_pool1d(x.flatten(1, 2), 7),
    "two axes": lambda x: F.adaptive_avg_pool2d(x, (6, 5)),
    "given size": lambda x: F.adaptive_avg_pool2d(x.bfloat16(), (x.shape[2] // 2, None)).float(),
    "three axes": lambda x: F.adaptive_avg_pool3d(x[:, None], (2, 3, 5)),
}


@pytest.mark.parametrize("function", ADAPTIVE.values(), ids=ADAPTIVE)
def test_adaptive_average_pooling(function):
    # In the example, all windows of the second function have the same size.
    x = torch.randn(2, 3, 12, 10)
    run = unmess.load(unmess.capture(function, (x,), dynamic_shapes=["x.2", "x.3"]))
    for size in ((12, 10), (16, 14), (7, 9)):
        assert_matches(function, run, torch.randn(2, 3, *size))


def test_a_size_that_becomes_a_number_is_checked():
    """Python's `int` fixes the number, and PyTorch adds a guard."""
    x = torch.randn(6)
    run = unmess.load(
        unmess.capture(lambda x: x[: int(x.shape[0] * 0.5)], (x,), dynamic_shapes=["x.0"])
    )
    assert torch.equal(run(torch.ones(7)), torch.ones(3))
    with pytest.raises(unmess.Error, match=r"valid only for math\.trunc"):
        run(torch.ones(9))


def test_a_size_as_the_first_operand():
    args = torch.rand(20, 3) + 1, torch.randint(1, 9, (20, 3))
    dynamic = ({0: torch.export.Dim.AUTO}, {0: torch.export.Dim.AUTO})
    run = unmess.load(unmess.capture(operate_on_a_size, args, dynamic_shapes=dynamic))
    for rows in (20, 33):
        x, i = torch.rand(rows, 3) + 1, torch.randint(1, 9, (rows, 3))
        for ours, theirs in zip(run(x, i), operate_on_a_size(x, i), strict=True):
            torch.testing.assert_close(ours, theirs)


def windows_of_any_batch(x):
    return (
        F.max_pool2d(x, 3, 2, 1, return_indices=True),
        F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
        F.adaptive_avg_pool2d(x, (3, 2)),
        F.adaptive_max_pool2d(x, (4, 3)),
        F.conv2d(x, torch.linspace(-1, 1, 108).reshape(6, 2, 3, 3), stride=(2, 1), groups=2),
        F.conv_transpose2d(x, torch.linspace(-1, 1, 36).reshape(4, 1, 3, 3), stride=2, groups=4),
        x.cumsum(1),
        x.sum().mean(),
    )


def windows_of_any_image(x):
    return (
        F.max_pool2d(x, 3, 2, 1),
        F.avg_pool2d(x, 2, stride=1),
        F.conv2d(x, torch.linspace(-1, 1, 216).reshape(6, 4, 3, 3), padding=3, dilation=2),
        F.conv_transpose2d(x, torch.linspace(-1, 1, 108).reshape(4, 3, 3, 3), stride=2),
    )


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize(
    "model, axes", [(windows_of_any_batch, [0]), (windows_of_any_image, [2, 3])]
)
def test_windows_at_stablehlo(model, axes, runner):
    """Upstream lowers no windows with dynamic sizes from StableHLO to linalg."""
    sizes = {axis: torch.export.Dim(f"size{axis}", min=4) for axis in axes}
    program = unmess.capture(model, (torch.randn(5, 4, 6, 7),), dynamic_shapes=(sizes,))
    run = unmess.load(unmess.lower(program, to="stablehlo"), on=runner)
    for size in (4, 9):
        shape = [size if axis in axes else length for axis, length in enumerate((5, 4, 6, 7))]
        assert_matches(model, run, torch.randn(shape))


class Reshapes(torch.nn.Module):
    def forward(self, x):
        flat = x.flatten(0, 1).softmax(-1)
        return flat.unflatten(0, x.shape[:2]).transpose(0, 1), x.flatten(), x.repeat(2, 1, 3)


@pytest.mark.parametrize("runner", RUNNERS)
def test_reshapes_of_two_dynamic_sizes_at_stablehlo(runner):
    sizes = {axis: torch.export.Dim(f"size{axis}", min=axis) for axis in (0, 1)}
    program = unmess.capture(Reshapes(), (torch.randn(3, 5, 8),), dynamic_shapes=(sizes,))
    run = unmess.load(unmess.lower(program, to="stablehlo"), on=runner)
    for shape in ((4, 7, 8), (0, 3, 8)):
        assert_matches(Reshapes(), run, torch.randn(shape))


def ranges(x):
    n = x.shape[0]
    return (
        torch.arange(n, dtype=torch.float16),
        torch.arange(n, dtype=torch.bfloat16),
        torch.arange(2 * n + 5, -3, -2, dtype=torch.float64),
        torch.arange(0, 0.5 * n, 0.25),
        torch.arange(0, 0.5 * n, 0.25, dtype=torch.float16),
    )


@pytest.mark.parametrize("runner", RUNNERS)
def test_ranges_of_floats(runner):
    """The number of elements is not a number of the dtype."""
    sizes = ({0: torch.export.Dim("n", min=4)},)
    program = unmess.capture(ranges, (torch.zeros(5),), dynamic_shapes=sizes)
    run = unmess.load(program, on=runner)
    for size in (4, 257, 2051):
        x = torch.zeros(size)
        for ours, eager in zip(run(x), ranges(x), strict=True):
            torch.testing.assert_close(ours, eager)


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("dialect", ["tosa", "stablehlo"])
def test_operands_of_equal_dynamic_sizes(dialect, runner):
    """A size of 1 is not broadcast. IREE stops programs at TOSA that decide this in each call."""

    def model(x, y):
        return (
            x.round() * y + x.abs().log1p(),
            x.clamp(y - 1, y + 1),
            (x @ x.new_ones(3, 4)).softmax(-1),
            F.layer_norm(F.gelu(x), (3,)),
            torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x.clone(), (x,)),
        )

    generator = torch.Generator().manual_seed(0)

    def arguments(size):
        return tuple(torch.randn(size, 3, generator=generator) for _ in range(2))

    sizes = {0: torch.export.Dim("n")}
    program = unmess.capture(model, arguments(4), dynamic_shapes=(sizes, sizes))
    run = unmess.load(unmess.lower(program, to=dialect), on=runner)
    for size in (1, 2, 7):
        for sign in (1, -1):
            x, y = arguments(size)
            assert_matches(model, run, x.abs() * sign, y)
