"""The list of repairs that `unmess repairs` prints, and that captures apply."""

import torch
import torch._inductor.inductor_prims  # defines prims::fma

from importers.decompositions import DECOMPOSITIONS
from importers.repair_list import recorded_repairs
from importers.repairs import REPAIRS


def test_captures_apply_all_that_is_listed():
    listed = [(each.name, each.mends) for each in recorded_repairs() if each.kind != "import"]
    decompositions = [(each.name, each.operator) for each in DECOMPOSITIONS]
    assert listed[: len(decompositions)] == decompositions
    assert [name for name, _ in listed[len(decompositions) :]] == [each.name for each in REPAIRS]


def test_listed_operators_of_pytorch_exist():
    missing = [each.operator for each in DECOMPOSITIONS if each.overload is None]
    assert [each for each in missing if each.startswith(("aten::", "prims::"))] == []


def test_a_function_of_several_operators_gets_the_operator():
    functions = {each.operator: each.function for each in DECOMPOSITIONS}
    x = torch.tensor([[True, False], [False, True]])
    assert functions["aten::any.dims"](x, [0, 1])
    assert not functions["aten::all.dims"](x, [0, 1])
