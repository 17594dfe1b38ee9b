"""Products with packed weights become one operation for each format, without unpacked matrices."""

import math
import re

import numpy as np
import pytest
import torch

import unmess
from importers.packed import FORMATS
from importers.packed.layers import PackedLinear, PackedWeight
from pipelines.iree.packed_products import has_packed_products, multiply_packed


def program(name, rows, batch):
    form = FORMATS[name]
    data = np.zeros((rows, 256 // form.elements * form.bytes), np.uint8)
    weight = PackedWeight(form, form.parts(data))
    layer = PackedLinear(torch.nn.Linear(256, rows, bias=False), weight)
    return unmess.lower(unmess.capture(layer.eval(), (torch.zeros(batch, 256),)))


@pytest.mark.parametrize("name, batch", [*((name, 1) for name in FORMATS), ("Q4_1", 3)])
def test_one_operation(name, batch):
    module = program(name, 64, batch)
    assert has_packed_products(module.ir)
    module.ir.context.allow_unregistered_dialects = True
    multiply_packed(module.ir)
    assert module.ir.operation.verify()
    text = str(module.ir)
    assert text.count("compilation_info =") == 1
    assert "linalg.matmul" not in text
    # Each number of the packed weight is packed once. Scales of K formats are in two pieces.
    shapes = re.findall(r"= linalg\.pack .* : tensor<([\dx]+)x\w+> ->", text)
    packed = sum(math.prod(map(int, shape.split("x"))) for shape in shapes)
    assert packed == sum(
        math.prod(argument.spec.shape) for argument in module.signature.of_kind("weight")
    )


def test_rows_that_no_lanes_divide():
    assert not has_packed_products(program("Q4_1", 61, 1).ir)
