// RUN: unmess-opt --pipeline reference-attention-blocks %s | filecheck %s
// RUN: unmess-opt --pipeline reference-attention-blocks --pipeline reference-bufferize --pipeline reference-parallel-loops %s | filecheck %s --check-prefix=PARTS

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1, d2) -> (d0, d1)>
#lhs = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#rhs = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#out = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#expanded = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>

// Scores of two heads with 1 MB each, in 16 blocks of 64 rows. The reshape of a block has the sizes
// of a block, and the diagonal moves by the first row of a block.
// CHECK-LABEL: func.func @causal
// CHECK:         scf.forall (%[[BLOCK:.*]]) in (16) shared_outs(%[[SHARED:.*]] = %{{.*}})
// CHECK:           linalg.generic {{.*}} outs(%{{.*}} : tensor<1x64x512xf32>)
// CHECK:           tensor.expand_shape {{.*}} output_shape [1, 1, 64, 512] : tensor<1x64x512xf32> into tensor<1x1x64x512xf32>
// CHECK:           %[[PLACE:.*]] = arith.remui %[[BLOCK]]
// CHECK:           %[[FIRST:.*]] = arith.muli %[[PLACE]]
// CHECK:           linalg.generic
// CHECK:             %[[ROW:.*]] = linalg.index 2
// CHECK:             %[[MOVED:.*]] = arith.addi %[[ROW]], %[[FIRST]]
// CHECK:             %[[COLUMN:.*]] = linalg.index 3
// CHECK:             arith.cmpi ugt, %[[COLUMN]], %[[MOVED]]
// CHECK:           scf.forall.in_parallel
// CHECK:             tensor.parallel_insert_slice %{{.*}} into %[[SHARED]][%{{.*}}, %{{.*}}, 0] [1, 64, 8] [1, 1, 1]

// The scores of a block are allocated in the loop.
// PARTS-LABEL: func.func @causal
// PARTS:         memref.alloc() {{.*}} : memref<2x512x8xf32>
// PARTS:         %[[END:.*]] = arith.constant 16 : index
// PARTS:         scf.for %{{.*}} = %{{.*}} to %[[END]]
// PARTS:           memref.alloc() {{.*}} : memref<1x64x512xf32>
// PARTS:         } {unmess.parts}
func.func @causal(%q: tensor<2x512x8xf32>, %k: tensor<2x8x512xf32>, %v: tensor<2x512x8xf32>) -> tensor<2x512x8xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x512x512xf32>
  %z = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<2x512x512xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  } -> tensor<2x512x512xf32>
  %s = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<2x512x8xf32>, tensor<2x8x512xf32>) outs(%z : tensor<2x512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x512x512xf32>
  %x = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [1, 2, 512, 512] : tensor<2x512x512xf32> into tensor<1x2x512x512xf32>
  %ex = tensor.empty() : tensor<1x2x512x512xf32>
  %m = linalg.generic {indexing_maps = [#expanded, #expanded], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x2x512x512xf32>) outs(%ex : tensor<1x2x512x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %row = linalg.index 2 : index
    %column = linalg.index 3 : index
    %0 = arith.cmpi ugt, %column, %row : index
    %1 = arith.select %0, %low, %in : f32
    linalg.yield %1 : f32
  } -> tensor<1x2x512x512xf32>
  %c = tensor.collapse_shape %m [[0, 1], [2], [3]] : tensor<1x2x512x512xf32> into tensor<2x512x512xf32>
  %er = tensor.empty() : tensor<2x512xf32>
  %start = linalg.fill ins(%low : f32) outs(%er : tensor<2x512xf32>) -> tensor<2x512xf32>
  %most = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%c : tensor<2x512x512xf32>) outs(%start : tensor<2x512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<2x512xf32>
  %p = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c, %most : tensor<2x512x512xf32>, tensor<2x512xf32>) outs(%e : tensor<2x512x512xf32>) {
  ^bb0(%in: f32, %by: f32, %out: f32):
    %0 = arith.divf %in, %by : f32
    linalg.yield %0 : f32
  } -> tensor<2x512x512xf32>
  %eo = tensor.empty() : tensor<2x512x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x512x8xf32>) -> tensor<2x512x8xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x512x512xf32>, tensor<2x512x8xf32>) outs(%zo : tensor<2x512x8xf32>) -> tensor<2x512x8xf32>
  return %o : tensor<2x512x8xf32>
}
