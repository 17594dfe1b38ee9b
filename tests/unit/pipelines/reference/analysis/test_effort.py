"""Small programs and operations are not optimized, large and dynamic ones are."""

import pytest
from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.reference.analysis.effort import PART, deserves_schedule, optimization_level
from unmess.core.ir.dialects import context_of_all

MATMUL = """
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @main(%a: tensor<{m}x{k}xf32>, %b: tensor<{k}x{n}xf32>, %c: tensor<{m}x{n}xf32>)
    -> tensor<{m}x{n}xf32> {{
  %0 = linalg.generic {{indexing_maps = [#a, #b, #c],
                        iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) outs(%c : tensor<{m}x{n}xf32>) {{
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %1, %z : f32
    linalg.yield %2 : f32
  }} -> tensor<{m}x{n}xf32>
  return %0 : tensor<{m}x{n}xf32>
}}
"""
# The input's index is a sum of two loops. A separate operand gives the window's length.
POOL = """
#in = affine_map<(o, w) -> (o + w)>
#window = affine_map<(o, w) -> (w)>
#out = affine_map<(o, w) -> (o)>
func.func @main(%x: tensor<{n}xf32>, %w: tensor<3xf32>, %y: tensor<{m}xf32>) -> tensor<{m}xf32> {{
  %0 = linalg.generic {{indexing_maps = [#in, #window, #out],
                        iterator_types = ["parallel", "reduction"]}}
      ins(%x, %w : tensor<{n}xf32>, tensor<3xf32>) outs(%y : tensor<{m}xf32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.addf %a, %c : f32
    linalg.yield %1 : f32
  }} -> tensor<{m}xf32>
  return %0 : tensor<{m}xf32>
}}
"""
COPY = """
func.func @main(%x: tensor<{n}xf32>, %y: tensor<{m}xf32>) -> tensor<{m}xf32> {{
  %0 = tensor.insert_slice %x into %y[1] [{n}] [1] : tensor<{n}xf32> into tensor<{m}xf32>
  return %0 : tensor<{m}xf32>
}}
"""
# The inner trip count is not a constant, as in a merge sort.
ROWS = """
func.func @main(%x: tensor<{n}xf32>, %runs: index, %number: f32) -> tensor<{n}xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant {rows} : index
  %0 = scf.for %row = %c0 to %rows step %c1 iter_args(%a = %x) -> tensor<{n}xf32> {{
    %1 = scf.for %run = %c0 to %runs step %c1 iter_args(%b = %a) -> tensor<{n}xf32> {{
      %2 = tensor.insert %number into %b[%run] : tensor<{n}xf32>
      scf.yield %2 : tensor<{n}xf32>
    }}
    scf.yield %1 : tensor<{n}xf32>
  }}
  return %0 : tensor<{n}xf32>
}}
"""
SCAN = """
func.func @main(%x: tensor<{n}xf32>, %y: tensor<{n}xf32>, %z: tensor<f32>) -> tensor<{n}xf32> {{
  %0:2 = tm_tensor.scan dimension(0) inclusive(true)
      ins(%x : tensor<{n}xf32>) outs(%y, %z : tensor<{n}xf32>, tensor<f32>) {{
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    tm_tensor.yield %1 : f32
  }} -> tensor<{n}xf32>, tensor<f32>
  return %0#0 : tensor<{n}xf32>
}}
"""
# Inserts elements in parallel loops.
INSERTIONS = """
func.func @main(%x: tensor<64x{n}xf32>, %y: f32) -> tensor<64x{n}xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant {n} : index
  %0 = scf.forall (%row) in (64) shared_outs(%all = %x) -> (tensor<64x{n}xf32>) {{
    %1 = tensor.extract_slice %all[%row, 0] [1, {n}] [1, 1] : tensor<64x{n}xf32> to tensor<{n}xf32>
    %2 = scf.for %i = %c0 to %end step %c1 iter_args(%each = %1) -> tensor<{n}xf32> {{
      %3 = tensor.insert %y into %each[%i] : tensor<{n}xf32>
      scf.yield %3 : tensor<{n}xf32>
    }}
    scf.forall.in_parallel {{
      tensor.parallel_insert_slice %2 into %all[%row, 0] [1, {n}] [1, 1]
          : tensor<{n}xf32> into tensor<64x{n}xf32>
    }}
  }}
  return %0 : tensor<64x{n}xf32>
}}
"""
SCATTER = """
func.func @main(%x: tensor<{n}xf32>, %i: tensor<{n}x1xi32>, %y: tensor<100xf32>)
    -> tensor<100xf32> {{
  %0 = tm_tensor.scatter {{dimension_map = array<i64: 0>}} unique_indices(false)
      ins(%x, %i : tensor<{n}xf32>, tensor<{n}x1xi32>) outs(%y : tensor<100xf32>) {{
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    tm_tensor.yield %1 : f32
  }} -> tensor<100xf32>
  return %0 : tensor<100xf32>
}}
"""


@pytest.mark.parametrize(
    ("text", "level"),
    [
        (INSERTIONS.format(n=200), 0),
        (INSERTIONS.format(n=2000), 2),
        (SCATTER.format(n=1000), 0),
        (SCATTER.format(n=100_000), 2),
        (SCATTER.format(n="?"), 2),
        (MATMUL.format(m=16, n=16, k=16), 0),
        (MATMUL.format(m=32, n=32, k=32), 2),
        # No operand is large, but the loops are.
        (MATMUL.format(m=128, n=128, k=128), 2),
        (MATMUL.format(m="?", n=4, k=4), 2),
        (POOL.format(n=1002, m=1000), 0),
        (POOL.format(n=100_002, m=100_000), 2),
        (COPY.format(n=1000, m=100_000), 0),
        (COPY.format(n=100_000, m=200_000), 2),
        (ROWS.format(n=100, rows=10), 0),
        (ROWS.format(n=100, rows=1000), 2),
        (ROWS.format(n=100_000, rows=1), 2),
        (SCAN.format(n=1000), 0),
        (SCAN.format(n=100_000), 2),
    ],
)
def test_level(text, level):
    with context_of_all():
        assert optimization_level(ir.Module.parse(text)) == level


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MATMUL.format(m=32, n=32, k=32), False),
        # Two threads may share it: an element is used twice only.
        (MATMUL.format(m=2, n=320, k=110), True),
        (MATMUL.format(m=2, n=320, k=100), False),
        (MATMUL.format(m=64, n=64, k=64), True),
        (POOL.format(n=10_002, m=10_000), False),
        (POOL.format(n=20_002, m=20_000), True),
    ],
)
def test_operations_that_threads_may_share_have_vector_code(text, expected):
    with ir.Context():
        module = ir.Module.parse(text)
        (generic,) = find_operations(module, lambda each: each.name == "linalg.generic")
        assert deserves_schedule(generic) is expected
        generic.attributes[PART] = ir.UnitAttr.get()
        assert deserves_schedule(generic)
