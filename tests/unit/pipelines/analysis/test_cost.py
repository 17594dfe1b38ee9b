"""Compares the costs of single operations with values computed by hand."""

import pytest

from pipelines.analysis.analysis import analyze_module
from unmess.core.ir.parsing import parse

MATMUL = """
func.func @main(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>, %c: tensor<3x5xf32>)
    -> tensor<3x5xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<3x4xf32>, tensor<4x5xf32>)
                     outs(%c : tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
"""
CONVOLUTION = """
func.func @main(%x: tensor<2x3x9x9xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<2x8x4x4xf32> {
  %0 = tensor.empty() : tensor<2x8x4x4xf32>
  %zero = arith.constant 0.0 : f32
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  %2 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>,
                                 strides = dense<2> : vector<2xi64>}
      ins(%x, %w : tensor<2x3x9x9xf32>, tensor<8x3x3x3xf32>)
      outs(%1 : tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  return %2 : tensor<2x8x4x4xf32>
}
"""
ELEMENTWISE = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%x: tensor<6x7xbf16>, %b: tensor<7xf32>) -> tensor<6x7xf32> {
  %0 = tensor.empty() : tensor<6x7xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<6x7xbf16>, tensor<7xf32>) outs(%0 : tensor<6x7xf32>) {
  ^bb0(%in: bf16, %bias: f32, %out: f32):
    %2 = arith.extf %in : bf16 to f32
    %3 = math.fma %2, %2, %bias : f32
    %4 = math.exp %3 : f32
    linalg.yield %4 : f32
  } -> tensor<6x7xf32>
  return %1 : tensor<6x7xf32>
}
"""
LOOKUP = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @main(%table: tensor<100x8xf32>, %ids: tensor<5xi64>) -> tensor<5x8xf32> {
  %0 = tensor.empty() : tensor<5x8xf32>
  %1 = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<5xi64>) outs(%0 : tensor<5x8xf32>) {
  ^bb0(%id: i64, %out: f32):
    %row = arith.index_cast %id : i64 to index
    %column = linalg.index 1 : index
    %2 = tensor.extract %table[%row, %column] : tensor<100x8xf32>
    linalg.yield %2 : f32
  } -> tensor<5x8xf32>
  return %1 : tensor<5x8xf32>
}
"""
LOOP = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.constant 0 : index
  %3 = arith.constant 3 : index
  %10 = arith.constant 10 : index
  %1 = scf.for %i = %0 to %10 step %3 iter_args(%carried = %x) -> tensor<4xf32> {
    %2 = func.call @twice(%carried) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
DYNAMIC = """
func.func @main(%a: tensor<?x4xf32>, %b: tensor<4x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %a, %c0 : tensor<?x4xf32>
  %columns = tensor.dim %b, %c1 : tensor<4x?xf32>
  %0 = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?x?xf32>) -> tensor<?x?xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<?x4xf32>, tensor<4x?xf32>)
                     outs(%1 : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}
"""


def entry(text, values=None):
    (found,) = analyze_module(parse(text, "test"), "test", "linalg", values=values).entries
    return found


def test_matrix_product():
    total = entry(MATMUL).total
    assert total.flops == 2 * 3 * 4 * 5
    # The accumulator is read too.
    assert total.read == 4 * (3 * 4 + 4 * 5 + 3 * 5)
    assert total.written == 4 * 3 * 5
    assert total.intensity == total.flops / (total.read + total.written)


def test_convolution_counts_its_windows():
    found = entry(CONVOLUTION)
    kinds = {share.name: share.cost for share in found.kinds}
    assert kinds["contraction"].flops == 2 * (2 * 8 * 4 * 4) * (3 * 3 * 3)
    assert kinds["movement"].flops == 0
    assert kinds["movement"].written == 4 * 2 * 8 * 4 * 4


def test_conversions_are_free_and_exp_counts_separately():
    total = entry(ELEMENTWISE).total
    assert (total.flops, total.transcendentals, total.integers) == (2 * 42, 42, 0)
    assert total.read == 2 * 42 + 4 * 7
    assert total.written == 4 * 42


def test_lookup_counts_only_the_rows_that_it_reads():
    (operation,) = entry(LOOKUP).operations
    assert operation.kind == "indexed"
    assert operation.cost.read == 8 * 5 + 4 * 5 * 8
    assert operation.cost.written == 4 * 5 * 8


def test_loop_and_called_function_count_once_per_iteration():
    (operation,) = entry(LOOP).operations
    assert operation.times == 4
    assert operation.cost.flops == 4 * 4


def test_a_dynamic_size_is_a_symbol_until_it_has_a_value():
    unknown = entry(DYNAMIC)
    assert set(unknown.symbols) == set(unknown.unknown) == {"arg0.0", "arg1.1"}
    assert str(unknown.total.flops) == "8*arg0.0*arg1.1"
    assert unknown.total.intensity is None
    assert unknown.memory.peak is None
    known = entry(DYNAMIC, {"arg0.0": 3, "arg1.1": 5})
    assert known.total.flops == 8 * 3 * 5
    assert known.memory.peak == 4 * 3 * 5
    assert known.unknown == ()
    assert known.formula.flops == unknown.total.flops


@pytest.mark.parametrize("values", [{"arg0.0": 3}, {"arg1.1": 3}])
def test_one_known_value_is_substituted(values):
    (left,) = {"arg0.0", "arg1.1"} - values.keys()
    assert str(entry(DYNAMIC, values).total.flops) == f"24*{left}"


def test_branches_between_blocks_count_as_a_loop():
    found = entry("""
func.func @main(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.br ^head(%c0, %x : index, tensor<4xf32>)
^head(%i: index, %a: tensor<4xf32>):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^done
^body:
  %b = arith.addf %a, %a : tensor<4xf32>
  %j = arith.addi %i, %c1 : index
  cf.br ^head(%j, %b : index, tensor<4xf32>)
^done:
  return %a : tensor<4xf32>
}
""")
    assert str(found.total.flops) == "4*trips0"
    assert "iterations of scf.while" in found.symbols["trips0"]
