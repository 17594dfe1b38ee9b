"""Tests bodies as data-flow graphs: which are equal, and how they are printed."""

from pipelines.analysis.analysis import analyze_module
from unmess.core.ir.parsing import parse

GENERIC = """
  %{name} = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}}
      ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    {body}
    linalg.yield %r : f32
  }} -> tensor<4xf32>
"""


def bodies(*texts):
    generics = "".join(GENERIC.format(name=f"g{i}", body=text) for i, text in enumerate(texts))
    module = parse(
        "#id = affine_map<(d0) -> (d0)>\n"
        "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %s: f32) {\n"
        "  %zero = arith.constant 0.0 : f32\n"
        f"  %e = tensor.empty() : tensor<4xf32>\n{generics}\n  return\n}}",
        "test",
    )
    return analyze_module(module, "test", "linalg").bodies


def test_names_order_and_repetition_do_not_matter():
    (group,) = bodies(
        "%p = arith.mulf %a, %b : f32\n%q = math.exp %a : f32\n%r = arith.addf %p, %q : f32",
        "%q = math.exp %a : f32\n%p = arith.mulf %b, %a : f32\n%r = arith.addf %q, %p : f32",
        "%q = math.exp %a : f32\n%p = arith.mulf %b, %a : f32\n%dead = math.exp %b : f32\n"
        "%r = arith.addf %q, %p : f32",
    )
    assert group.count == 3


def test_order_of_non_commutative_operands_matters():
    first, second = bodies("%r = arith.subf %a, %b : f32", "%r = arith.subf %b, %a : f32")
    assert {str(first.body), str(second.body)} == {"yield subf(in0, in1)", "yield subf(in1, in0)"}


def test_predicates_constants_and_scalars_belong_to_the_body():
    groups = bodies(
        "%c = arith.cmpf ugt, %a, %zero : f32\n%r = arith.select %c, %a, %zero : f32",
        "%c = arith.cmpf ogt, %a, %zero : f32\n%r = arith.select %c, %a, %zero : f32",
        "%r = arith.maximumf %a, %s : f32",
    )
    assert [str(group.body) for group in groups] == [
        "yield select(cmpf ugt(in0, 0), in0, 0)",
        "yield select(cmpf ogt(in0, 0), in0, 0)",
        "yield maximumf(in0, scalar)",
    ]


def test_a_value_used_twice_has_a_name():
    (group,) = bodies("%t = math.exp %a : f32\n%r = arith.mulf %t, %t : f32")
    assert str(group.body) == "t0 = exp(in0)\nyield mulf(t0, t0)"
    labels = [node.label for node in group.body.nodes]
    assert labels == ["in0", "exp", "mulf", "yield"]
    assert group.body.nodes[2].operands == (1, 1)
