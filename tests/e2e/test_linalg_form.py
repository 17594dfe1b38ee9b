"""Fixed sizes, NHWC, named and generic operations: the IR has the form, and computes the same."""

import functools

import pytest
import torch
from torch import nn

import unmess


class Attention(nn.Module):
    """Attention, a reshape by the dynamic size, operations of tm_tensor, and two sizes."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)

    def forward(self, x, y):
        mixed = self.norm(self.attention(x, x, x, need_weights=False)[0])
        return mixed, x.cumsum(1), x.reshape(-1, 4), x.topk(2, 1), torch.cat([x[0], y]), y.sum(0)


def attention(**sizes):
    torch.manual_seed(0)
    sizes = {"n": 7, "m": 3} | sizes
    return Attention().eval(), (torch.randn(2, sizes["n"], 8), torch.randn(sizes["m"], 8))


DYNAMIC = ["x.1=n:2..64", "y.0=m"]


@functools.cache
def capture():
    return unmess.capture(*attention(), dynamic_shapes=DYNAMIC)


@pytest.mark.parametrize("sizes", [{"n": 16}, {"n": 2, "m": 5}, {"m": 0}, {"n": 64, "m": 1}])
def test_fixed_sizes(sizes):
    module = unmess.lower(capture(), sizes=sizes)
    model, args = attention(**sizes)
    run = unmess.load(module)
    torch.testing.assert_close(run(*args), model(*args))
    # The example call of the module has the new sizes, too.
    example = module.program.args
    assert [tuple(tensor.shape) for tensor in example] == [tuple(each.shape) for each in args]
    torch.testing.assert_close(run(*example), model(*example))
    if len(sizes) == 2:
        assert "?" not in module.text()
    else:
        names = {
            name
            for dim in module.signature.dynamic_inputs().values()
            for size in dim
            if not isinstance(size, int)
            for name in size.parsed.names
        }
        assert names == {"n", "m"} - sizes.keys()
        with pytest.raises(unmess.Error) as caught:
            run(*attention(**{name: size + 1 for name, size in sizes.items()})[1])
        assert caught.value.stage == "run"


class Products(nn.Module):
    """Two inputs. The size of the first one is a multiple of a symbol."""

    def forward(self, x, y):
        return x.reshape(-1, 2).sum(1), torch.cat([x, y])


def test_sizes_that_depend_on_one_name():
    program = unmess.capture(
        Products(), (torch.randn(8), torch.randn(5)), dynamic_shapes=["x.0=2*k:4..40", "y.0=q:2..9"]
    )
    module = unmess.lower(program, sizes={"k": 6})
    assert "%x: tensor<12xf32>" in module.text()
    x, y = torch.randn(12), torch.randn(4)
    torch.testing.assert_close(unmess.load(module)(x, y), Products()(x, y))
    with pytest.raises(unmess.Error, match=r"k=41 is out of range: x\.shape\[0\] would be 82"):
        unmess.lower(program, sizes={"k": 41})


@pytest.mark.parametrize(
    ("sizes", "cause", "hint"),
    [
        ({"sequence": 4}, "no dynamic dimension 'sequence'", "its dynamic dimensions are n, m"),
        ({"n": 65}, "n=65 is out of range", "choose a size in the range"),
        ({"n": 1}, "n=1 is out of range", "choose a size in the range"),
    ],
)
def test_wrong_sizes(sizes, cause, hint):
    with pytest.raises(unmess.Error) as caught:
        unmess.lower(capture(), sizes=sizes)
    assert caught.value.stage == "usage"
    assert cause in caught.value.cause
    assert hint in caught.value.hint


@pytest.mark.parametrize("stage", ["raw", "linalg"])
def test_sizes_of_a_file(unmess_command, tmp_path, stage):
    file, fixed = str(tmp_path / "dynamic.mlir"), str(tmp_path / "fixed.mlir")
    unmess.lower(capture(), stage).save(file)
    done = unmess_command(
        "import", file, "--set-size", "n=16", "--set-size", "m=4", "-o", fixed, "-q"
    )
    assert done.returncode == 0, done.stderr
    model, args = attention(n=16, m=4)
    torch.testing.assert_close(unmess.load(fixed)(*args), model(*args))
    # Compiled code of the dynamic file is never used for the fixed one, nor vice versa.
    module = unmess.lower(unmess.capture(file, attention()[1]), sizes={"n": 7, "m": 3})
    torch.testing.assert_close(unmess.load(module)(*attention()[1]), model(*attention()[1]))
    assert unmess.check(module.program, on="reference", calls=0).ok
    assert unmess.check(file, on="reference", calls=0).ok


class Layers(nn.Module):
    """Operations of linalg that have names."""

    def __init__(self):
        super().__init__()
        self.conv, self.linear = nn.Conv2d(3, 4, 3), nn.Linear(4, 5)

    def forward(self, x):
        y = torch.relu(self.linear(self.conv(x).amax((2, 3))))
        low = (x.to(torch.uint8) // 3).maximum(x.to(torch.uint8))
        return (
            y.exp() - y.sqrt() * y,
            low,
            x.transpose(1, 2) + 1,
            torch.maximum(x, -x),
            x.abs().log(),
        )


def hostile():
    x = torch.randn(2, 3, 6, 6)
    x[0, 0, 0] = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 250.0, 3.0])
    return x


@pytest.mark.parametrize("option", ["generalize", "specialize"])
def test_named_and_generic_operations(option):
    torch.manual_seed(0)
    model, x = Layers().eval(), hostile()
    module = unmess.lower(unmess.capture(model, (x,)), **{option: True})
    text = module.text()
    if option == "generalize":
        named = [word for word in ("linalg.conv", "linalg.matmul", "linalg.fill") if word in text]
        assert not named
    else:
        assert "linalg.exp" in text and "linalg.conv_2d_nchw_fchw" in text
    torch.testing.assert_close(unmess.load(module)(x), model(x), equal_nan=True)


class Images(nn.Module):
    """Convolutions with and without groups, poolings, and a classifier."""

    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, 1, 1)
        )
        self.depthwise = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.shortcut, self.last = nn.Conv2d(4, 4, 1, 2), nn.Conv2d(4, 6, 3, 2, 1, groups=2)
        self.linear = nn.Linear(12, 5)

    def forward(self, x):
        y = self.convs(x)
        y = torch.cat([self.shortcut(y), nn.functional.avg_pool2d(self.depthwise(y), 2, 2, 1)], 1)
        y = self.last(y[:, 2:6]).mean(3)
        return self.linear(y.flatten(1)), y


@pytest.mark.parametrize("dynamic", [None, {0: torch.export.Dim("n", min=2)}])
def test_convolutions_in_nhwc(dynamic):
    torch.manual_seed(0)
    model, x = Images().eval(), torch.randn(2, 3, 7, 7)
    program = unmess.capture(model, (x,), dynamic_shapes=({0: dynamic[0]},) if dynamic else None)
    before, module = unmess.lower(program), unmess.lower(program, nhwc=True)
    assert "linalg.conv_2d_nchw_fchw" in before.text()
    text = module.text()
    for name in ("conv_2d_nhwc_hwcf", "depthwise_conv_2d_nhwc_hwc", "pooling_nhwc_max"):
        assert f"linalg.{name}" in text
    assert "_nchw_" not in text
    # The arguments keep their layout.
    assert before.signature == module.signature
    y = x.repeat(3, 1, 1, 1) if dynamic else x
    torch.testing.assert_close(unmess.load(module)(y), model(y))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--generalize", "--to", "tosa"),
        ("--nhwc", "--to", "tosa"),
        ("--specialize", "--to", "torch"),
        ("--set-size", "n=3", "--to", "stablehlo"),
        ("--generalize", "--specialize"),
        ("--outline", "a", "--to", "tosa"),
        ("--set-size", "n"),
        ("--set-size", "n=-1"),
        ("--set-size", "=1"),
    ],
)
def test_usage_errors(unmess_command, arguments):
    done = unmess_command("import", "model.py", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: "), done.stderr


class Nested(nn.Module):
    """A layer that is called twice, one that branches on data, and one beside them."""

    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.layer1(x) + self.layer1(x * 2)), x.topk(2, 1), x > 0


@pytest.mark.parametrize("on", ["reference", "iree-cpu"])
def test_outlined_layers(on):
    torch.manual_seed(0)
    model, x = Nested().eval(), torch.randn(3, 4)
    program = unmess.capture(model, (x,), dynamic_shapes=["x.0=n"])
    module = unmess.lower(program, outline=["layer1", "head"])
    text = module.text()
    for name in ("layer1", "layer1_1", "head"):
        assert f"func.func private @{name}(" in text and f"call @{name}(" in text
    main = text[text.index("@main") :]
    assert "linalg.matmul" not in main and "tm_tensor" in main
    run = unmess.load(module, on=on)
    for size in (3, 1, 5):
        y = torch.randn(size, 4)
        torch.testing.assert_close(run(y), model(y))


def test_wrong_names_of_layers_are_reported():
    program = unmess.capture(Nested().eval(), (torch.randn(3, 4),))
    for name, hint in (("layer2", "did you mean layer1"), ("zz", "its modules are head, layer1")):
        with pytest.raises(unmess.Error, match=f"no operation .* a module '{name}'") as caught:
            unmess.lower(program, outline=[name])
        assert caught.value.stage == "usage"
        assert hint in caught.value.hint
