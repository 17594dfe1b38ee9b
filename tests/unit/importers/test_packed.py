"""Formats of packed weights, compared with the `gguf` package bit by bit, and layers with them."""

import copy
from dataclasses import replace

import gguf
import numpy as np
import pytest
import torch

import unmess
from importers.packed import FORMATS, PACKINGS, layers
from importers.packed.layers import PackedLinear, PackedWeight, can_hold_packed, put_packed
from importers.packed.layout import PackedMatrix

ROWS = 6
# The offsets of the f16 numbers in a block. All other bytes may have any value.
HALVES = {"Q6_K": (208,), "MXFP4": (), **dict.fromkeys(("Q4_0", "Q5_0", "Q8_0"), (0,))}


def blocks(name, kind, columns=512, rows=ROWS):
    """Returns the bytes of a random matrix. `kind` selects the scales."""
    random = np.random.default_rng(sum(map(ord, name + kind)))
    form = FORMATS[name]
    data = random.integers(0, 256, (rows, columns // form.elements, form.bytes), dtype=np.uint8)
    for place in HALVES.get(name, (0, 2)):
        shape = (*data.shape[:2], 1)
        if kind == "usual":
            scales = random.uniform(-0.1, 0.1, shape)
        else:
            # The largest f16 number, the smallest, subnormal ones and both zeros.
            scales = random.choice([65504, -65504, 6e-8, -6e-8, 3e-5, 0.0, -0.0], shape)
        data[..., place : place + 2] = scales.astype(np.float16).view(np.uint8)
    if name == "MXFP4":
        # Exponents with a bias of 127. The largest ones make infinite weights.
        shape, near = data.shape[:2], kind == "usual"
        data[..., 0] = (
            random.integers(115, 125, shape) if near else random.choice([0, 1, 2, 252], shape)
        )
    return data.reshape(rows, -1)


def same(one, other):
    one, other = (np.asarray(each, np.float32).reshape(ROWS, -1) for each in (one, other))
    return np.array_equal(one.view(np.int32), other.view(np.int32))


@pytest.mark.parametrize("kind", ["usual", "extreme"])
@pytest.mark.parametrize("name", FORMATS)
def test_equal_to_gguf(name, kind):
    form = FORMATS[name]
    assert gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]] == (form.elements, form.bytes)
    data = blocks(name, kind)
    expected = gguf.dequantize(data, gguf.GGMLQuantizationType[name])
    assert np.isfinite(expected).all()
    assert same(form.truth(form.blocks(data)), expected)
    parts = form.parts(data)
    assert same(form.unpack(parts, torch.float32), expected)
    exact = form.unpack(parts, torch.float64).reshape(ROWS, -1)
    np.testing.assert_allclose(exact, expected, rtol=1e-6, atol=1e-6 * abs(expected).max())
    # The 6-bit scales of K formats are stored as bytes, and the 8-bit scales of MXFP4 as bf16.
    most = 1.06 if name == "MXFP4" else 1.03
    assert sum(part.nbytes for part in parts.values()) <= most * data.nbytes


def weight(name, rows=ROWS):
    form = FORMATS[name]
    return PackedWeight(form, form.parts(blocks(name, "usual", rows=rows)))


@pytest.mark.parametrize("name", FORMATS)
def test_rows_are_rows_of_the_matrix(name):
    packed = weight(name)
    indices = torch.tensor([[5, 0], [2, 2]])
    assert torch.equal(packed.rows(indices), packed()[indices])


def test_conversion_keeps_the_packed_tensors():
    packed = weight("Q4_1")
    matrix, scales = packed(), packed.scales.clone()
    wide = copy.deepcopy(packed).double()
    assert wide().dtype == torch.float64
    narrow = packed.to(torch.bfloat16)
    assert torch.equal(narrow(), matrix.to(torch.bfloat16))
    assert narrow.scales.dtype == wide.scales.dtype == torch.float16
    assert torch.equal(narrow.float().scales, scales)
    assert torch.equal(narrow(), matrix)


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(ROWS, 512)
        self.layer = torch.nn.Linear(512, 3)
        self.head = torch.nn.Linear(512, ROWS, bias=False)
        self.head.weight = self.embedding.weight


def test_tied_weights_stay_tied():
    model, form = Tied(), FORMATS["Q8_0"]
    layer = model.layer
    data = blocks("Q8_0", "usual")
    matrix = PackedMatrix(form, form.parts(data))
    counts = put_packed(model, {"embedding.weight": lambda: matrix})
    assert counts == {"Q8_0": ROWS * 512}
    assert model.head.weight is model.embedding.weight
    assert model.layer is layer
    assert {name for name, _ in model.named_buffers()} == {
        "embedding.weight.integers",
        "embedding.weight.scales",
    }
    x = model.embedding(torch.tensor([1]))
    assert torch.equal(model.head(x), x @ model.embedding.weight().T)


def test_bias_is_added():
    layer = torch.nn.Linear(512, ROWS)
    packed = PackedLinear(layer, weight("Q5_0"))
    x = torch.randn(2, 512)
    expected = torch.nn.functional.linear(x, packed.weight(), layer.bias)
    assert torch.equal(packed(x), expected)


def test_calls_share_unpacked_matrices(monkeypatch):
    model, form = Tied(), FORMATS["Q8_0"]
    put_packed(
        model, {"embedding.weight": lambda: PackedMatrix(form, form.parts(blocks("Q8_0", "usual")))}
    )
    calls = []

    x, expected = torch.randn(2, 512), model.head.weight()
    unpack = layers.unpack
    monkeypatch.setattr(layers, "unpack", lambda *args: calls.append(args) or unpack(*args))
    with layers.unpacked_once(model, limit=ROWS * 512 * 4):
        assert torch.equal(model.head(x), x @ expected.T)
        model.head(x)
        assert len(calls) == 1
    model.head(x)
    assert len(calls) == 2
    with layers.unpacked_once(model, limit=ROWS * 512 * 4 - 1):
        model.head(x)
        model.head(x)
    assert len(calls) == 4


def test_subclasses_keep_their_weights():
    class Scaled(torch.nn.Embedding):
        pass

    assert can_hold_packed(torch.nn.Embedding(2, 32))
    assert not can_hold_packed(torch.nn.Embedding(2, 32, max_norm=1.0))
    assert not can_hold_packed(Scaled(2, 32))


@pytest.mark.parametrize("name", FORMATS)
def test_operator_has_the_right_fake_kernel(name):
    packed = weight(name)
    parts = dict(packed.named_buffers())
    args = (list(parts.values()), list(parts), name, torch.bfloat16)
    torch.library.opcheck(torch.ops.unmess.unpack.default, args)


def test_a_capture_unpacks_equal_weights_once(monkeypatch):
    form, calls = FORMATS["Q4_1"], []

    def counted(parts, dtype):
        calls.append(parts["scales"].shape)
        return form.unpack(parts, dtype)

    monkeypatch.setitem(PACKINGS, "Q4_1", replace(form, unpack=counted))
    linear = torch.nn.Linear(512, 512, bias=False)
    layers = [PackedLinear(linear, weight("Q4_1", 512)) for _ in range(3)]
    program = unmess.capture(torch.nn.Sequential(*layers), (torch.zeros(2, 512),))
    assert len(calls) == 1
    shifts = [node for node in program.exported.graph.nodes if "right_shift" in str(node.target)]
    assert len(shifts) == 3


def test_a_saved_exported_program(tmp_path):
    """A user's own export has the operator that unpacks weights."""
    layer = PackedLinear(torch.nn.Linear(512, ROWS, bias=False), weight("Q4_1")).eval()
    x = torch.randn(2, 512)
    file = tmp_path / "layer.pt2"
    torch.export.save(torch.export.export(layer, (x,)), file)
    run = unmess.load(unmess.capture(str(file)))
    torch.testing.assert_close(run(x), layer(x))
