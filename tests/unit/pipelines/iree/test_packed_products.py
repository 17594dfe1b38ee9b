"""Products with packed weights become one operation for each format, without unpacked matrices."""

import math
import re

import numpy as np
import pytest
import torch
from packed_layouts import CASES, FLOAT_CASES
from torch_mlir import ir

import unmess
from benchmarks.iree_dispatches import measured
from importers.packed import FORMATS, LAYOUTS
from importers.packed.layers import PackedEmbedding, PackedLinear, PackedWeight
from pipelines.ir.modules import find_operations
from pipelines.iree.backend import backend
from pipelines.iree.lanes import extract_rearranged_weights
from pipelines.iree.packed_products import multiply_packed
from pipelines.iree.packing import packed_weights


def captured(name, rows, *batches):
    """Returns a program with an entry point for each batch, which share one packed weight."""
    form = FORMATS[name]
    size = rows, 256 // form.elements * form.bytes
    data = np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)
    weight = PackedWeight(form, form.parts(data))
    layer = PackedLinear(torch.nn.Linear(256, rows, bias=False), weight)
    programs = [unmess.capture(layer.eval(), (torch.zeros(batch, 256),)) for batch in batches]
    if len(programs) == 1:
        return programs[0]
    return unmess.combine({f"of_{each}": one for each, one in zip(batches, programs, strict=True)})


def multiplied(program):
    """Returns a program in linalg after the rewrite."""
    module = unmess.lower(program)
    module.ir.context.allow_unregistered_dialects = True
    multiply_packed(module.ir)
    return module


@pytest.mark.parametrize("name, batch", [*((name, 1) for name in FORMATS), ("Q4_1", 3)])
def test_one_operation(name, batch):
    module = multiplied(captured(name, 64, batch))
    assert module.ir.operation.verify()
    text = str(module.ir)
    (product,) = find_operations(module.ir, lambda each: "compilation_info" in each.attributes)
    # IREE does not vectorize an operation that reads a tensor of rank 0.
    assert all(ir.RankedTensorType(each.type).rank for each in product.operands)
    assert "linalg.matmul" not in text
    # Each number of the packed weight is packed once. Scales of K formats are in two pieces.
    shapes = re.findall(r"= linalg\.pack .* : tensor<([\dx]+)x\w+> ->", text)
    packed = sum(math.prod(map(int, shape.split("x"))) for shape in shapes)
    assert packed == sum(
        math.prod(argument.spec.shape) for argument in module.signature.of_kind("weight")
    )


@pytest.mark.parametrize("name", [*CASES, "fp8"])
def test_one_operation_for_each_layout(name):
    case = (CASES | FLOAT_CASES)[name]
    tensors, _ = case.matrix(64, 256)
    matrix = LAYOUTS[case.method].read(tensors, case.config)
    weight = PackedWeight(matrix.packing, matrix.parts, matrix.columns)
    layer = PackedLinear(torch.nn.Linear(256, 64, bias=False), weight).eval()
    module = multiplied(unmess.capture(layer, (torch.zeros(3, 256),)))
    assert module.ir.operation.verify()
    (product,) = find_operations(module.ir, lambda each: "compilation_info" in each.attributes)
    # IREE removes loops that run once, and then the schedule does not fit.
    assert 1 not in ir.RankedTensorType(product.operands[0].type).shape
    kinds = [str(each) for each in product.attributes["iterator_types"]]
    groups = matrix.parts["scales"].shape[1]
    assert sum("reduction" in kind for kind in kinds) == (1 if groups == 1 else 2)
    assert not find_operations(module.ir, lambda each: each.name == "linalg.matmul")


def test_rows_that_no_lanes_divide():
    module = multiplied(captured("Q4_1", 61, 1))
    assert "compilation_info =" not in str(module.ir)


def with_lanes(program):
    """Returns a program in linalg whose rearranged weights are arguments, and these."""
    module, rearranged = extract_rearranged_weights(multiplied(program))
    assert module.ir.operation.verify()
    return module, rearranged


def bits(tensor):
    """Returns f16 numbers as integers, so that NaN equals NaN."""
    return tensor.view(torch.int16) if tensor.dtype == torch.float16 else tensor


@pytest.mark.parametrize("name", FORMATS)
def test_each_number_is_rearranged_once(name):
    program = captured(name, 64, 1)
    module, rearranged = with_lanes(program)
    assert "linalg.pack" not in str(module.ir)
    # Scales of K formats are in two pieces.
    for weight in {each.weight for each in rearranged}:
        given = bits(program.weights[weight])
        found = [each.of(given) for each in rearranged if each.weight == weight]
        numbers = torch.cat([each.reshape(-1) for each in found])
        assert torch.equal(numbers.sort().values, given.reshape(-1).sort().values)
        for each in found:
            assert each.is_contiguous() and each.shape[-1] == 32
    main = next(each for each in rearranged if each.weight.endswith("weight.integers"))
    integers = program.weights[main.weight].reshape(64, -1)
    lanes = main.of(program.weights[main.weight])
    assert torch.equal(lanes[1, ..., 5].reshape(-1), integers[32 + 5])
    kinds = [argument.kind for argument in module.signature.arguments]
    assert len(kinds) == len(program.signature.arguments) + len(rearranged)


def test_entry_points_share_rearranged_weights():
    module, rearranged = with_lanes(captured("Q4_1", 64, 1, 3))
    names = [each.name for each in rearranged]
    assert len(set(names)) == 3
    for signature in module.entries.values():
        assert [argument.name for argument in signature.arguments[-3:]] == names


def test_the_profile_is_that_of_the_product_with_packed_weights():
    module = unmess.lower(captured("Q4_1", 64, 3))
    (product,) = measured(module, "plain", [torch.zeros(3, 256)])
    assert re.search(r"3x2x32x8x16_i8xf16xf16", product.name)


class Tied(torch.nn.Module):
    """An embedding and an output layer with the same weight."""

    def __init__(self, name):
        super().__init__()
        form = FORMATS[name]
        size = 64, 512 // form.elements * form.bytes
        data = np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)
        parts = form.parts(data)
        for part in parts.values():
            if part.dtype == torch.float16:
                part.uniform_(0.001, 0.01, generator=torch.Generator().manual_seed(0))
        self.weight = PackedWeight(form, parts)
        self.embed = PackedEmbedding(torch.nn.Embedding(64, 512), self.weight)
        self.head = PackedLinear(torch.nn.Linear(512, 64, bias=False), self.weight)

    def forward(self, ids):
        hidden = self.embed(ids)
        return hidden, self.head(hidden)


# In Q6_K, the rearranged tensors have more axes, and the scales, in two pieces, are kept twice.
@pytest.mark.parametrize("name, twice", [("Q8_0", ()), ("Q6_K", ("scales",))])
def test_a_lookup_reads_rearranged_weights(name, twice, tmp_path):
    model, ids = Tied(name).eval(), torch.tensor([5, 63, 0, 32, 31])
    runner = backend("iree-cpu")
    artifact = runner.compile(unmess.capture(model, (ids,)).to_module(), tmp_path)
    given = {weight.rpartition(".")[2]: tensor for weight, tensor in artifact.weights.items()}
    kept = packed_weights(artifact.compiled, artifact.weights)
    expected_size = sum(each.nbytes for each in (*given.values(), *map(given.get, twice)))
    assert sum(tensor.nbytes for tensor in kept.values()) == expected_size
    loaded = runner.load(artifact)
    rows, product = loaded["main"](ids)
    expected_rows, expected = model(ids)
    assert torch.equal(rows, expected_rows)
    assert (product - expected).abs().max() <= 1e-6 * expected.abs().max()
