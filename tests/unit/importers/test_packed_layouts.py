"""Layouts of packed weights in folders of transformers, compared with the matrix bit by bit."""

import numpy as np
import pytest
import torch
from packed_layouts import CASES, FLOAT_CASES, compressed, fp8, gptq

from importers.packed import LAYOUTS
from importers.packed.layers import PackedLinear, PackedWeight

ROWS, COLUMNS = 24, 96
ALL = CASES | FLOAT_CASES


def read(case, tensors):
    return LAYOUTS[case.method].read(tensors, case.config)


@pytest.mark.parametrize("name", ALL)
def test_equal_to_the_packed_matrix(name):
    case = ALL[name]
    layout = LAYOUTS[case.method]
    tensors, expected = case.matrix(ROWS, COLUMNS)
    assert layout.unsupported(case.config) is None
    assert {layout.main, *layout.required} <= set(tensors)
    assert set(tensors) <= {layout.main, *layout.required, *layout.optional}
    np.testing.assert_array_equal(layout.truth(tensors, case.config), expected)
    matrix = read(case, tensors)
    assert (matrix.columns is not None) == case.shuffled
    unpacked = matrix.packing.unpack(matrix.parts, torch.float32).flatten(1)
    order = slice(None) if matrix.columns is None else matrix.columns
    assert torch.equal(unpacked, torch.from_numpy(expected)[:, order])
    assert matrix.packing.columns(matrix.parts) == COLUMNS
    assert ("zero_points" in matrix.parts) != case.symmetric
    size = sum(part.nbytes for part in matrix.parts.values())
    # Zero points of 4 bits are stored as bytes, and scales of blocks for each row.
    scales = matrix.parts["scales"]
    more = scales.nbytes if name in FLOAT_CASES else scales.numel()
    assert size <= sum(each.nbytes for each in tensors.values()) + more
    assert matrix.parts["scales"].dtype == case.dtype


@pytest.mark.parametrize("name", ALL)
def test_linear_layer(name):
    case = ALL[name]
    tensors, weights = case.matrix(ROWS, COLUMNS, seed=1)
    matrix = read(case, tensors)
    layer = torch.nn.Linear(COLUMNS, ROWS)
    packed = PackedLinear(layer, PackedWeight(matrix.packing, matrix.parts, matrix.columns))
    layer.weight.data = torch.from_numpy(weights)
    x = torch.randn(2, 3, COLUMNS)
    torch.testing.assert_close(packed(x), layer(x))
    parts = dict(matrix.parts)
    args = (list(parts.values()), list(parts), matrix.packing.name, torch.float32)
    # PyTorch's test of the schema computes with the arguments, which is not implemented for FP8.
    utils = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    more = () if name in FLOAT_CASES else ("test_schema",)
    torch.library.opcheck(torch.ops.unmess.unpack.default, args, test_utils=(*utils, *more))


def test_columns_are_padded_to_whole_integers():
    case = CASES["pack-quantized, 4 bits, a group per row"]
    tensors, expected = case.matrix(3, 42)
    assert tensors["weight_packed"].shape == (3, 6)
    matrix = read(case, tensors)
    unpacked = matrix.packing.unpack(matrix.parts, torch.float32).flatten(1)
    assert torch.equal(unpacked, torch.from_numpy(expected))


def test_one_scale_for_the_matrix():
    case = CASES["int-quantized"]
    tensors, _ = case.matrix(ROWS, COLUMNS)
    tensors["weight_scale"] = torch.tensor([0.25], dtype=torch.float16)
    expected = tensors["weight"].float() * 0.25
    matrix = read(case, tensors)
    assert torch.equal(matrix.packing.unpack(matrix.parts, torch.float32).flatten(1), expected)
    np.testing.assert_array_equal(
        LAYOUTS[case.method].truth(tensors, case.config), expected.numpy()
    )


@pytest.mark.parametrize("name", ["fp8", "float-quantized, blocks"])
@pytest.mark.parametrize("rows, columns", [(17, 80), (5, 20), (40, 33)])
def test_the_last_block_is_smaller(name, rows, columns):
    case = FLOAT_CASES[name]
    tensors, expected = case.matrix(rows, columns)
    matrix = read(case, tensors)
    unpacked = matrix.packing.unpack(matrix.parts, torch.float32).flatten(1)
    assert torch.equal(unpacked, torch.from_numpy(expected))
    np.testing.assert_array_equal(LAYOUTS[case.method].truth(tensors, case.config), expected)


def test_every_number_of_8_bits():
    weight = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).reshape(8, 32)
    tensors = {"weight": weight, "weight_scale_inv": torch.ones(())}
    layout = LAYOUTS["fp8"]
    truth = torch.from_numpy(layout.truth(tensors, {}))
    torch.testing.assert_close(truth, weight.float(), rtol=0, atol=0, equal_nan=True)
    matrix = layout.read(tensors, {})
    unpacked = matrix.packing.unpack(matrix.parts, torch.float32).flatten(1)
    torch.testing.assert_close(unpacked, truth, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"weight": torch.zeros(24, 96, dtype=torch.bfloat16)}, "the weight is torch.bfloat16"),
        ({"weight_scale_inv": torch.ones(3, 3)}, r"\[3, 3\] scales for \[24, 96\] weights"),
    ],
)
def test_tensors_that_do_not_fit(change, problem):
    case = FLOAT_CASES["fp8"]
    tensors, _ = case.matrix(ROWS, COLUMNS)
    layout = LAYOUTS[case.method]
    for function in (layout.read, layout.truth):
        with pytest.raises(ValueError, match=problem):
            function(tensors | change, case.config)


def test_groups_of_different_sizes():
    case = CASES["gptq, asymmetric, act-order"]
    tensors, _ = case.matrix(ROWS, COLUMNS)
    tensors["g_idx"][:] = 0
    with pytest.raises(ValueError, match="not in 3 groups of the same size"):
        read(case, tensors)


def activations(bits):
    config = compressed("int-quantized", 8, "channel")
    config["config_groups"]["group_0"]["input_activations"] = {"num_bits": bits}
    return config


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (gptq(bits=3), "weights of 3 bits"),
        (gptq(checkpoint_format="marlin"), "the layout marlin"),
        (gptq(is_marlin_format=True), "the layout marlin"),
        (gptq(dynamic={"+:.*mlp.*": {"bits": 8}}), "bits that differ between layers (dynamic)"),
        (gptq(dynamic={"-:.*mlp.*": {}}), None),
        ({"quant_method": "awq", "bits": 4, "version": "gemv"}, "the layout gemv"),
        ({"quant_method": "awq", "bits": 8}, "weights of 8 bits"),
        (compressed("float-quantized", 8, "channel"), "weights of 8 bits of the type int"),
        (compressed("nvfp4-pack-quantized", 4, "group"), "the format nvfp4-pack-quantized"),
        (fp8([128, 128], expert_dtype="fp4"), "experts in fp4"),
        (compressed("marlin-24", 4, "group", 128), "the format marlin-24"),
        (compressed("pack-quantized", 2, "group", 128), "weights of 2 bits of the type int"),
        (compressed("pack-quantized", 4, "block"), "the strategy block"),
        (activations(8), "quantized activations"),
        (
            compressed("pack-quantized", 4, "channel") | {"quantization_status": "frozen"},
            "the quantization_status frozen",
        ),
        (
            compressed("pack-quantized", 4, "channel")
            | {"sparsity_config": {"format": "sparse-24-bitmask"}},
            "sparse weights (sparse-24-bitmask)",
        ),
    ],
)
def test_unsupported_variants(config, problem):
    assert LAYOUTS[config["quant_method"]].unsupported(config) == problem
