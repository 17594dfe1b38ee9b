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
from pipelines.iree.parameters import with_parameters
from pipelines.iree.shared_lanes import share_lanes


def captured(name, rows, *batches):
    """Returns a program with an entry point for each batch, which share one packed weight."""
    form = FORMATS[name]
    data = np.zeros((rows, 256 // form.elements * form.bytes), np.uint8)
    weight = PackedWeight(form, form.parts(data))
    layer = PackedLinear(torch.nn.Linear(256, rows, bias=False), weight)
    programs = [unmess.capture(layer.eval(), (torch.zeros(batch, 256),)) for batch in batches]
    if len(programs) == 1:
        return programs[0]
    return unmess.combine({f"of_{each}": one for each, one in zip(batches, programs, strict=True)})


def program(name, rows, batch):
    return unmess.lower(captured(name, rows, batch))


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


def test_entry_points_share_rearranged_weights():
    module = with_parameters(unmess.lower(captured("Q4_1", 64, 1, 3)))
    multiply_packed(module)
    assert str(module).count("linalg.pack") == 2 * 3
    share_lanes(module)
    assert module.operation.verify()
    text = str(module)
    assert text.count("linalg.pack") == text.count('"util.initializer"') == 3
    # Each entry point loads the integers, scales and minimums, rearranged.
    loads = re.findall(r'"util.global.load"\(\) <?\{global = @([\w.$]+\$lanes\d)\}', text)
    assert sorted(loads) == sorted(2 * list(dict.fromkeys(loads))) and len(loads) == 2 * 3
